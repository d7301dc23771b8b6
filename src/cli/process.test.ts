import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { MemoryCheckpointer } from "../backends/memory/index.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import { createToken, serve } from "../entry/server.ts";
import { AgentState } from "../state/agent-state.ts";
import { userMessage } from "../state/message.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const LOADER = import.meta.resolve("tsx");
const shell = (line: string, env: Record<string, string> = {}) =>
  promisify(execFile)("bash", ["-c", line], {
    env: { ...process.env, HF: `${process.execPath} --import ${LOADER} ${MAIN}`, ...env },
    maxBuffer: 32 * 1024 * 1024,
  });

let store: FilledStore;
beforeAll(async () => {
  store = await filledStore("many");
  const checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db` });
  await checkpointer.save(AgentState.create().withMessage(userMessage("x".repeat(5_000_000))), "large");
  await checkpointer.close();
});
afterAll(() => store.dispose());

test("a pipe that is closed early ends the command quietly with 0", async () => {
  const line = `set -o pipefail; $HF threads "$STORE" --all -o ndjson | head -1; echo "code \${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await shell(line, { STORE: store.url });
  expect(stdout.split("\n")[0]).toContain('"threadId":"');
  expect(stdout).toContain("code 0");
  expect(stderr).toBe("");
});

test.skipIf(!existsSync("/dev/full"))(
  "an export onto a full disk says that it is not whole, and ends with 10",
  async () => {
    const { stdout, stderr } = await shell(`$HF export "$STORE" > /dev/full; echo "code $?"`, { STORE: store.url });
    expect(stdout).toBe("code 10\n");
    expect(stderr).toMatch(/^holdfast: the output cannot be written, and is not whole: .*ENOSPC/);
  },
);

test("5 MB of JSON arrive whole through a slow reader", async () => {
  const { stdout } = await shell(`$HF show "$STORE" large -o json | (sleep 1; cat)`, { STORE: store.url });
  expect(JSON.parse(stdout).state.messages[0].content).toHaveLength(5_000_000);
});

test("tail -f shows what comes, and Ctrl-C ends it with 130", async () => {
  const child = spawn(
    process.execPath,
    ["--import", LOADER, MAIN, "tail", "-f", "-n", "1", "-o", "id", "env:STORE", "trip-1"],
    {
      env: { ...process.env, STORE: store.url },
    },
  );
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let shown = "";
  const seen = async (text: string) => {
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      shown += chunk;
      if (shown.includes(text)) return;
    }
  };
  await seen("waiting\n");
  const checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db` });
  const state = await checkpointer.load("trip-1");
  await checkpointer.save(state?.withMessage(userMessage("more")) ?? AgentState.create(), "trip-1", "later");
  await checkpointer.close();
  await seen("later\n");
  child.kill("SIGINT");
  expect(await ended).toBe(130);
});

test("a token that was given on the command line is used, warned about, and not seen by others on the machine", async () => {
  const { token, sha256 } = createToken();
  const checkpointer = new MemoryCheckpointer();
  await checkpointer.save(AgentState.create(), "t", "c1");
  const service = await serve({ checkpointer, port: 0, auth: { tokens: [{ sha256, scopes: ["threads:read"] }] } });
  const url = service.url.replace("//", `//:${token}@`);
  const child = spawn(process.execPath, ["--import", LOADER, MAIN, "tail", "-f", "-o", "id", url, "t"]);
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) if (String(chunk).includes("c1")) break;
  const seen = await readFile(`/proc/${child.pid}/cmdline`, "utf8").catch(() => "holdfast");
  child.kill("SIGTERM");
  expect(await ended).toBe(143);
  await service.close();
  expect(seen).toContain("holdfast");
  expect(seen).not.toContain(token);
  expect(stderr).toContain("env:NAME");
  expect(stderr).not.toContain(token);
});

test("without a terminal nothing waits for an answer", async () => {
  const line = `CI=1 $HF delete "$STORE" trip-1 < /dev/null; echo "code $?"`;
  expect((await shell(line, { STORE: store.url })).stdout).toContain("code 11");
});
