import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast, NOW, type Outcome } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { openStore } from "../backends/open-store.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import { AgentState } from "../state/agent-state.ts";
import { assistantMessage, userMessage } from "../state/message.ts";
import { COMMANDS } from "./commands.ts";
import { Ended } from "./world.ts";

let store: FilledStore;
let checkpointer: Checkpointer;
let served: Promise<Outcome> | undefined;
beforeEach(async () => {
  store = await filledStore("one");
  await writeFile(`${store.directory}/rules.json`, JSON.stringify([{ category: "process", keepLast: 1 }]));
  checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db`, now: () => NOW });
});
afterEach(async () => {
  await checkpointer.close();
  await store.dispose();
});

/** A thread with one call of this status, and a question for approval. */
async function threadWithCall(threadId: string, status: "unknown" | "waiting"): Promise<void> {
  const call = { id: "call-9", name: "charge", arguments: { euros: 5 } };
  const approval = { id: "ok-9", toolCallId: "call-9", kind: "approval" as const, question: "charge?", askedAt: NOW };
  let state = AgentState.create()
    .withMessage(userMessage("pay"))
    .withMessage(assistantMessage("", { toolCalls: [call] }));
  state = state.withToolExecution({ toolCallId: "call-9", toolName: "charge", status, idempotencyKey: "k" });
  if (status === "waiting") state = state.withInterrupt(approval);
  await checkpointer.save(state, threadId, { checkpointId: "asked", metadata: { user: "ann" } });
}

const SAYS = ["--by", "ann", "--reason", "case 17"];

/** What each command that writes is called with where it would change something. */
const writes = (hold: string): Readonly<Record<string, readonly string[]>> => ({
  answer: ["waits", "ok-9", "--approve"],
  send: ["trip-1", "and hurry"],
  cancel: ["trip-1"],
  settle: ["doubt", "call-9", "done", "--by", "ann"],
  fork: ["trip-1", "trip-2"],
  delete: ["trip-1", "--yes"],
  vacuum: ["--keep-last", "1", "--yes"],
  "lease break": ["trip-1", "--yes"],
  serve: ["--port", "0"],
  doctor: [],
  migrate: ["--apply"],
  repair: ["trip-1", "--to", "trip-2"],
  erase: ["ann", "--yes", ...LEDGER],
  import: [fileURLToPath(new URL("../../test/golden/cli/export.ndjson", import.meta.url))],
  "hold place": ["--threads", "trip-", ...SAYS],
  "hold lift": [hold, "--yes", ...SAYS],
  retention: ["--rules", `${store.directory}/rules.json`, "--yes", ...LEDGER],
});
const LEDGER = ["--ledger", "memory:", "--key", "env:ERASURE_KEY"];

/** What those say on stderr of what they would do. */
const SAID: Readonly<Record<string, string>> = {
  migrate: "the tables are up to date\n",
  vacuum: "would remove 2 checkpoints (with all of 0 threads)\n",
  retention: "would remove 2 checkpoints (with all of 0 threads) and 0 items\n",
};

test("every command that writes leaves every byte as it was with --dry-run", async () => {
  await threadWithCall("doubt", "unknown");
  await threadWithCall("waits", "waiting");
  await checkpointer.close();
  const placed = await holdfast(["hold", "place", store.url, "--threads", "other-", ...SAYS, "--json"]);
  const before = await hashedFiles(store.directory);
  const writing = COMMANDS.filter((command) => command.store === "write").map(({ name }) => name);
  const calls = writes(JSON.parse(placed.stdout).id);
  expect(Object.keys(calls).sort()).toEqual(writing.sort());
  for (const [name, args] of Object.entries(calls)) {
    const { code, stderr } = await holdfast([...name.split(" "), store.url, ...args, "--dry-run"]);
    expect([name, code, stderr]).toEqual([name, 0, SAID[name] ?? ""]);
    expect(await hashedFiles(store.directory), name).toEqual(before);
  }
});

test("no command but serve, import and migrate makes a store that is not there", async () => {
  const before = await hashedFiles(store.directory);
  for (const [name, args] of Object.entries(writes("a hold")).filter(
    ([name]) => !["serve", "import", "migrate"].includes(name),
  )) {
    for (const typo of [`sqlite:${store.directory}/typo.db`, `file:${store.directory}/typo`]) {
      expect([
        name,
        typo,
        (await holdfast([...name.split(" "), typo, ...args], { env: { ERASURE_KEY: "k".repeat(32) } })).code,
      ]).toEqual([name, typo, 4]);
    }
  }
  expect(await hashedFiles(store.directory)).toEqual(before);
});

test("delete takes the typed id or --yes, and nothing where --if-head is not the newest", async () => {
  expect((await holdfast(["delete", store.url, "trip-1", "--yes", "--if-head", "c1"])).code).toBe(5);
  const one = await holdfast(["delete", store.url, "trip-1", "--at", "@-1", "--yes", "-o", "json"]);
  expect(JSON.parse(one.stdout)).toEqual({ threadId: "trip-1", checkpointId: "c2", dryRun: false });
  expect((await holdfast(["delete", store.url, "trip-1"], { terminal: true, typed: "trip-1" })).code).toBe(0);
  expect(await checkpointer.exists("trip-1")).toBe(false);
  expect((await holdfast(["delete", store.url, "trip-1", "--yes"])).code).toBe(4);
});

test("fork is refused while calls are open there, until an option says what becomes of them", async () => {
  await threadWithCall("waits", "waiting");
  const refused = await holdfast(["fork", store.url, "waits", "copy"]);
  expect(refused.code).toBe(5);
  expect(refused.stderr).toContain("charge (call-9)");
  expect(await checkpointer.exists("copy")).toBe(false);
  expect((await holdfast(["fork", store.url, "waits", "copy", "--settle-open"])).code).toBe(0);
  expect((await checkpointer.load("copy"))?.toolExecutions[0]?.status).toBe("failed");
  expect((await holdfast(["fork", store.url, "waits", "copy-2", "--keep-open"])).code).toBe(0);
  expect((await checkpointer.load("copy-2"))?.toolExecutions[0]?.status).toBe("waiting");
  expect((await holdfast(["fork", store.url, "trip-1", "copy"])).code).toBe(5);
});

test("an answer is sent once, and the thread is still found by its metadata", async () => {
  await threadWithCall("waits", "waiting");
  expect((await holdfast(["answer", store.url, "waits", "ok-9", "{"])).code).toBe(2);
  expect((await holdfast(["answer", store.url, "waits", "ok-9", "-"], { typed: '{"decision":"approve"}' })).code).toBe(
    0,
  );
  expect((await holdfast(["answer", store.url, "waits", "ok-9", "--deny", "late"])).code).toBe(5);
  expect((await holdfast(["answer", store.url, "waits", "no", "--approve"])).code).toBe(4);
  expect((await checkpointer.signals("waits")).map((signal) => signal.kind === "answers" && signal.answers)).toEqual([
    [{ id: "ok-9", value: { decision: "approve" } }],
  ]);
  const found = await holdfast(["threads", store.url, "--meta", "user=ann", "-o", "id"]);
  expect(found.stdout).toBe("waits\n");
});

test("settle records who found out how a call in doubt ended", async () => {
  await threadWithCall("doubt", "unknown");
  expect((await holdfast(["settle", store.url, "doubt", "call-9", "perhaps", "--by", "ann"])).code).toBe(2);
  expect((await holdfast(["settle", store.url, "doubt", "call-9", "done"])).code).toBe(2);
  expect(
    (await holdfast(["settle", store.url, "doubt", "call-9", "done", "--by", "ann", "--reason", "ledger"])).code,
  ).toBe(0);
  const [execution] = (await checkpointer.load("doubt"))?.toolExecutions ?? [];
  expect(execution).toMatchObject({ status: "succeeded", settledBy: { by: "ann", reason: "ledger" } });
  expect((await holdfast(["settle", store.url, "doubt", "call-9", "done", "--by", "ann"])).code).toBe(5);
});

test("vacuum shows its plan and asks, and removes what it showed", async () => {
  const asked = await holdfast(["vacuum", store.url, "--keep-last", "1"], { terminal: true, typed: "2" });
  expect(asked.stderr).toContain("2 checkpoints");
  expect(asked.code).toBe(0);
  expect(await checkpointer.listCheckpoints("trip-1")).toHaveLength(1);
  expect((await holdfast(["vacuum", store.url, "--yes"])).code).toBe(2);
  expect((await holdfast(["vacuum", store.url, "--older-than", "soon", "--yes"])).code).toBe(2);
});

test("lease show says who holds a thread, and a holder whose lease was broken is refused", async () => {
  const state = await checkpointer.load("trip-1");
  const work = checkpointer.withLease(
    "trip-1",
    async (lease) => {
      const shown = JSON.parse((await holdfast(["lease", "show", store.url, "trip-1", "-o", "json"])).stdout);
      expect(shown.lease).toMatchObject({ owner: "worker", token: lease.token });
      expect((await holdfast(["lease", "break", store.url, "trip-1", "--if-token", "another", "--yes"])).code).toBe(5);
      expect((await holdfast(["lease", "break", store.url, "trip-1", "--yes"])).code).toBe(0);
      await checkpointer.save(state ?? AgentState.create(), "trip-1", { lease });
    },
    { owner: "worker", ttlMs: 600_000 },
  );
  await expect(work).rejects.toMatchObject({ code: "CONFLICT" });
  const { stdout } = await holdfast(["lease", "show", store.url, "trip-1", "-o", "json"]);
  expect(JSON.parse(stdout).lease).toBe(null);
});

test("serve takes the entries that token prints, lets in who has the token, and ends with 0", async () => {
  const { stdout: token, stderr: entry } = await holdfast(["token"]);
  const file = `${store.directory}/tokens.ndjson`;
  await writeFile(file, entry);
  const ending = new AbortController();
  const found = new Promise<string>((resolve) => {
    const onOutput = (text: string) => resolve(JSON.parse(text).url);
    served = holdfast(["serve", store.url, "--port", "0", "--tokens", file, "-o", "ndjson"], {
      signal: ending.signal,
      onOutput,
    });
  });
  const url = await found;
  const shown = await holdfast(["threads", url, "-o", "id"], { env: { HOLDFAST_TOKEN: token.trim() } });
  expect(shown).toEqual({ code: 0, stdout: "trip-1\n", stderr: "" });
  expect((await holdfast(["threads", url])).code).toBe(7);
  await writeFile(`${store.directory}/token`, token);
  expect((await holdfast(["threads", url, "--token-file", `${store.directory}/token`, "-o", "id"])).stdout).toBe(
    "trip-1\n",
  );
  ending.abort(new Ended("SIGINT"));
  expect((await served)?.code).toBe(0);
});

test("serve puts items on HTTP with --items, for tokens that may read them", async () => {
  const items = await openStore(store.url);
  await items.put(["users", "ann"], "seat", { text: "window" });
  await items.close();
  const { stdout: token, stderr: entry } = await holdfast(["token", "--scopes", "items:read"]);
  const file = `${store.directory}/tokens.ndjson`;
  await writeFile(file, entry);
  const serving = ["serve", store.url, "--items", "env:ITEMS", "--tokens", file];
  const env = { ITEMS: store.url };
  const dry = await holdfast([...serving, "--dry-run", "-o", "ndjson"], { env });
  expect(JSON.parse(dry.stdout)).toEqual({ dryRun: true, tokens: 1, items: true });
  const ending = new AbortController();
  const url = await new Promise<string>((resolve) => {
    const onOutput = (text: string) => resolve(JSON.parse(text).url);
    served = holdfast([...serving, "--port", "0", "-o", "ndjson"], { env, signal: ending.signal, onOutput });
  });
  const asked = { env: { HOLDFAST_TOKEN: token.trim() } };
  expect(await holdfast(["store", "get", url, "users/ann", "seat", "-o", "id"], asked)).toMatchObject({ code: 0 });
  expect((await holdfast(["threads", url], asked)).code).toBe(7);
  ending.abort(new Ended("SIGINT"));
  expect((await served)?.code).toBe(0);
});

test("tail -f ends by itself when its thread is deleted", async () => {
  const shown = holdfast(["tail", "-f", store.url, "trip-1", "-o", "id"], {
    onOutput: () => void checkpointer.delete("trip-1"),
  });
  expect((await shown).code).toBe(0);
});

test("token prints the token alone, and its entry elsewhere", async () => {
  const { stdout, stderr } = await holdfast(["token", "--scopes", "threads:read", "--tenant", "a"]);
  expect(stdout).toMatch(/^hf_[\w-]{43}\n$/);
  expect(JSON.parse(stderr)).toMatchObject({ scopes: ["threads:read"], tenant: "a" });
  expect((await holdfast(["token", "--scopes", "all"])).code).toBe(2);
});
