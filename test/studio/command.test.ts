import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildStudio } from "../../scripts/studio/build-page.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { AgentState, userMessage } from "../../src/index.ts";
import { holdfast } from "../cli/fake-world.ts";
import { StudioFolder } from "./opened-studio.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const LOADER = import.meta.resolve("tsx");

let place: StudioFolder;
beforeAll(async () => {
  await buildStudio();
  place = await StudioFolder.make();
  const checkpointer = sqliteCheckpointer({ path: place.path });
  await checkpointer.save(AgentState.create().withMessage(userMessage("hello")), "trip-42");
  await checkpointer.close();
});
afterAll(() => place.dispose());

/** A real process, as a shell starts it. */
async function started(...options: readonly string[]) {
  const argv = ["--import", LOADER, MAIN, "studio", `sqlite:${place.path}`, "--port", "0", "-o", "json", ...options];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "pipe"] });
  let [told, noted] = ["", ""];
  child.stderr.on("data", (part: Buffer) => {
    noted += part;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (part: Buffer) => {
      told += part;
      if (told.trimEnd().endsWith("}")) resolve((JSON.parse(told) as { url: string }).url);
    });
    child.once("exit", () => reject(new Error(noted)));
  });
  const [origin = "", token = ""] = url.split("/#k=");
  const asked = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}/api/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", origin },
    });
  const end = async (): Promise<number | null> => {
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill("SIGINT");
    return ended;
  };
  return { asked, end, notes: () => noted };
}

test("holdfast studio prints the address with its key, only looks, and ends with 0 on Ctrl-C while streams are open", async () => {
  const { asked, end, notes } = await started();
  const store = (await (await asked("store")).json()) as { mayWrite: boolean; store: string };
  expect(store).toMatchObject({ mayWrite: false, store: `sqlite:${place.path}` });
  const fork = await asked("threads/dHJpcC00Mg/fork", { method: "POST", body: JSON.stringify({ target: "b" }) });
  expect(fork.status).toBe(403);
  const stream = await asked("threads/dHJpcC00Mg/events");
  expect(stream.status).toBe(200);
  expect(await end()).toBe(0);
  expect(notes()).toContain("only looks");
});

test("with --write it forks, and says so on stderr; it deletes nothing", async () => {
  const { asked, end, notes } = await started("--write");
  const fork = await asked("threads/dHJpcC00Mg/fork", {
    method: "POST",
    body: JSON.stringify({ target: "trip-42-b" }),
  });
  expect(fork.status).toBe(200);
  expect((await asked("threads/dHJpcC00Mg/delete/plan", { method: "POST", body: "{}" })).status).toBe(403);
  await end();
  expect(notes()).toContain('forked "trip-42" as "trip-42-b"');
});

test("with --write the proofs try the store itself, and a Studio that is ended meanwhile leaves nothing of them behind", async () => {
  const { asked, end } = await started("--write");
  const cases = await asked("proofs/cases", { method: "POST", body: "{}" });
  expect(cases.status).toBe(200);
  const reader = cases.body?.getReader();
  const first = await reader?.read();
  expect(
    JSON.parse(
      Buffer.from(first?.value ?? [])
        .toString()
        .split("\n")[0] ?? "",
    ),
  ).toMatchObject({ done: 1 });
  expect(await end()).toBe(0);
  const checkpointer = sqliteCheckpointer({ path: place.path });
  expect((await checkpointer.listThreads()).filter((threadId) => threadId.startsWith("doctor-"))).toEqual([]);
  await checkpointer.close();
});

test("what cannot be meant is refused with a word, and a store that is not there is not made", async () => {
  expect((await holdfast(["studio", "memory:", "--allow-delete"])).stderr).toContain(
    "--allow-delete goes with --write",
  );
  expect((await holdfast(["studio", "memory:", "--write", "--ledger", "memory:"])).stderr).toContain(
    "HOLDFAST_ERASURE_KEY",
  );
  const { code } = await holdfast(["studio", `sqlite:${place.folder}/typo.db`]);
  expect(code).toBe(4);
});
