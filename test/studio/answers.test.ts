import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import { caseLines } from "../../src/cli/doctor/in-studio.ts";
import { AgentState, assistantMessage, userMessage } from "../../src/index.ts";
import { CorePersonalData } from "../../src/session/personal-data.ts";
import type { Answers } from "../../src/studio/answer-types.ts";
import { MOST_ANSWER_BYTES, ROUTES, type RouteName } from "../../src/studio/routes.ts";
import { recordAt } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeSegment } from "../../src/wire/names.ts";
import { type OpenedStudio, openStudio, StudioFolder, type StudioSetup } from "./opened-studio.ts";
import { fillItems, fillStory, StoryClock } from "./story-store.ts";

const opened: OpenedStudio[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

interface Asked {
  readonly thread?: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: object;
}

/** A client of the API: an answer, or the code of the problem. */
async function studioOn(checkpointer: Checkpointer, setup: StudioSetup = {}) {
  const one = await openStudio(checkpointer, setup);
  opened.push(one);
  const { origin, token } = one.studio;
  const get = async (
    name: RouteName,
    { thread = "", query = {}, body }: Asked,
  ): Promise<{ status: number; text: string }> => {
    const { method, path } = ROUTES[name];
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) search.set(key, String(value));
    const response = await fetch(`${origin}/api/${path.replace("{thread}", encodeSegment(thread))}?${search}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", origin },
      ...(method === "POST" && { body: JSON.stringify(body ?? {}) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const ask = async <Name extends RouteName>(name: Name, asked: Asked = {}): Promise<Answers[Name]> => {
    const { status, text } = await get(name, asked);
    if (status !== 200) throw new Error(`${(JSON.parse(text) as { code: string }).code}: ${text}`);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_ANSWER_BYTES);
    return JSON.parse(text) as Answers[Name];
  };
  return { ...one, ask, text: async (name: RouteName) => (await get(name, {})).text };
}

test("whatever is stored, every answer keeps to 256 kB and every part of it can be reached", async () => {
  const checkpointer = new MemoryCheckpointer();
  const wide = "\u0001\u2028漢🙂".repeat(50_000);
  const many = Object.fromEntries(
    Array.from({ length: 3000 }, (_, index) => [`${"k".repeat(300)}${index}`, wide.slice(0, 900)]),
  );
  const calls = Array.from({ length: 60 }, (_, index) => ({
    id: `${"c".repeat(400)}${index}`,
    name: "n".repeat(900),
    arguments: { text: wide.slice(0, 9000) },
  }));
  let state = AgentState.create()
    .withMetadata(many)
    .withMessages([
      ...Array.from({ length: 120 }, () => userMessage(wide.slice(0, 30_000))),
      assistantMessage(wide, { toolCalls: calls.slice(0, 3) }),
    ]);
  for (const { id, name } of calls) {
    state = state
      .withToolExecution({
        toolCallId: id,
        toolName: name,
        status: "waiting",
        error: wide.slice(0, 5000),
        idempotencyKey: wide.slice(0, 2000),
      })
      .withInterrupt({
        id,
        toolCallId: id,
        kind: "question",
        question: wide.slice(0, 5000),
        askedAt: 1,
        schema: { description: wide.slice(0, 7000) },
      });
  }
  const threadId = "t".repeat(1000);
  await checkpointer.save(state, threadId, { checkpointId: "c".repeat(1000), metadata: { a: wide.slice(0, 2000) } });
  for (let index = 0; index < 150; index++) {
    await checkpointer.save(AgentState.create().withMessage(userMessage("x")), `${"u".repeat(1000)}${index}`, {
      metadata: { a: wide.slice(0, 500), b: wide.slice(0, 500), c: wide.slice(0, 500), d: wide.slice(0, 500) },
    });
  }
  const { ask } = await studioOn(checkpointer);
  for (const name of ["thread", "lineage", "checkpoints", "series", "problems", "ledger", "state"] as const)
    await ask(name, { thread: threadId });
  for (const name of ["threads", "inbox", "health"] as const) await ask(name);
  await ask("diff", { query: { a: threadId, b: `${"u".repeat(1000)}1` } });
  await ask("value", { thread: threadId, query: { path: '["metadata"]' } });
  let seen = 0;
  while (seen < state.messages.length)
    seen += (await ask("messages", { thread: threadId, query: { from: seen, count: 100 } })).messages.length;
  let text = "";
  while (text.length < wide.length)
    text += (await ask("text", { thread: threadId, query: { path: '["messages",120,"content"]', from: text.length } }))
      .text;
  expect(text === wide).toBe(true);
  const ids = new Set<string>();
  while (ids.size < calls.length)
    for (const row of (await ask("ledger", { thread: threadId, query: { from: ids.size } })).rows)
      ids.add(row.toolCallId);
});

test("looking at every view of a store leaves every byte of it as it was", async () => {
  const place = await StudioFolder.make();
  const clock = new StoryClock();
  const filling = place.open({ now: clock.now });
  const items = place.items();
  await fillStory(filling, clock);
  await fillItems(items);
  await items.close();
  await filling.close();
  const bytes = async (): Promise<readonly string[]> =>
    Promise.all(
      (await readdir(place.folder))
        .filter((name) => !name.endsWith("-shm"))
        .sort()
        .map(
          async (name) =>
            `${name} ${createHash("sha256")
              .update(await readFile(join(place.folder, name)))
              .digest("hex")}`,
        ),
    );
  const before = await bytes();
  const checkpointer = place.open({ access: "read" });
  const { ask, close } = await studioOn(checkpointer, { openItems: async () => place.items("read") });
  for (const name of ["store", "threads", "inbox", "health", "namespaces", "items"] as const) await ask(name);
  for (const name of ["thread", "lineage", "checkpoints", "series", "messages", "problems", "ledger", "state"] as const)
    await ask(name, { thread: "trip-42" });
  await ask("graph", { thread: "research-graph" });
  await ask("diff", { query: { a: "trip-42", b: "trip-42~2" } });
  await ask("neighbours", { query: { namespace: '["docs"]', key: "baggage" } });
  await close();
  await checkpointer.close();
  expect(await bytes()).toEqual(before);
  await place.dispose();
});

describe("the walk over all threads", () => {
  test("sorts and filters what was read, and says how much that is; where listing reads threads it stops until it is asked on", async () => {
    const checkpointer = new MemoryCheckpointer();
    for (let index = 0; index < 2100; index++) {
      await checkpointer.save(AgentState.create().withMessage(userMessage("x")), `t${index}`, {
        metadata: { shard: index % 7 },
      });
    }
    const { ask } = await studioOn(checkpointer);
    const first = await ask("threads");
    expect(first.walk.complete).toBe(false);
    await expect.poll(async () => (await ask("threads")).walk).toEqual({ read: 2000, complete: false, paused: true });
    await ask("threads", { query: { readOn: 1 } });
    await expect.poll(async () => (await ask("threads")).walk).toEqual({ read: 2100, complete: true, paused: false });
    const { rows, total } = await ask("threads", { query: { meta: "shard=3", sort: "id", count: 2 } });
    expect([total, rows.map(({ threadId }) => threadId)]).toEqual([300, ["t10", "t1004"]]);
    expect((await ask("threads", { query: { text: "T209" } })).total).toBe(11);
  });

  test("shows, filters and sorts what it has of 100,000 threads before it has all of them, and all of them then", async () => {
    const log = new HaltingLog();
    for (let index = 0; index < 100_000; index++) await log.append(`t${index}`, { ...FIRST, record: headAt(index) });
    const { ask } = await studioOn(new Checkpointer(log));
    onTestFinished(() => log.goOn());
    log.haltsAfter = 30;
    await ask("threads", { query: { readOn: 1 } });
    await expect.poll(async () => (await ask("threads")).walk.paused).toBe(true);
    await ask("threads", { query: { readOn: 1 } });
    await ask("threads", { query: { readOn: 1 } });
    await log.isHalted;
    const partly = await ask("threads", { query: { sort: "id", count: 1 } });
    expect(partly).toMatchObject({ total: partly.walk.read, walk: { complete: false, paused: false } });
    expect(partly.walk.read).toBeGreaterThanOrEqual(20_000);
    expect(partly.walk.read).toBeLessThan(100_000);
    log.goOn();
    await expect.poll(async () => (await ask("threads")).walk).toMatchObject({ read: 100_000 });
    const ids = async (query: Record<string, string | number>) => {
      const { rows, total } = await ask("threads", { query });
      return [total, ...rows.map(({ threadId }) => threadId)];
    };
    expect(await ids({ count: 2 }), "the newest first").toEqual([100_000, "t99999", "t99998"]);
    expect(await ids({ sort: "id", from: 99_998 })).toEqual([100_000, "t99998", "t99999"]);
    expect(await ids({ sort: "messages", count: 1 })).toEqual([100_000, "t10999"]);
    expect(await ids({ text: "9999", sort: "id", count: 3 })).toEqual([19, "t19999", "t29999", "t39999"]);
    expect(await ids({ standing: "damaged" })).toEqual([0]);
  });
});

const FIRST = { expected: { generation: "g", seq: 0, writeId: "" } } as const;

/** A head as a save leaves it. */
const headAt = (index: number): LogRecord => ({
  ...recordAt(1),
  header: `{"format":1,"kind":"base","createdAt":${index},"messages":${index % 1000},"bytes":9,"chain":[1,9,9,9]}`,
});

/** A storage that stops answering after a number of pages, until it is told to continue. */
class HaltingLog extends MemoryLog {
  haltsAfter = Number.POSITIVE_INFINITY;
  goOn: () => void = () => undefined;
  readonly #gate = new Promise<void>((resolve) => {
    this.goOn = resolve;
  });
  #tellHalted: () => void = () => undefined;
  readonly isHalted: Promise<void> = new Promise((resolve) => {
    this.#tellHalted = resolve;
  });

  override async listThreads(query: Parameters<MemoryLog["listThreads"]>[0]): ReturnType<MemoryLog["listThreads"]> {
    if (this.haltsAfter-- <= 0) {
      this.#tellHalted();
      await this.#gate;
    }
    return super.listThreads(query);
  }
}

test("a person is found everywhere, erased as planned with a receipt, and found nowhere", async () => {
  const checkpointer = new MemoryCheckpointer();
  const store = new InMemoryStore();
  await checkpointer.save(
    AgentState.create().withMetadata({ subject: "ann-77" }).withMessage(userMessage("my address is 5 Elm St")),
    "trip-1",
  );
  await store.put(["notes"], "n1", "likes tea", { metadata: { subject: "ann-77" } });
  const ledger = new InMemoryStore();
  const people = new CorePersonalData({
    key: "k".repeat(32),
    now: Date.now,
    open: async () => ({ checkpointers: [checkpointer], stores: [store], ledger }),
  });
  const { ask, notes } = await studioOn(checkpointer, {
    mayWrite: true,
    mayDelete: true,
    people,
    canErase: true,
    openItems: async () => store,
  });
  const inventory = await ask("inventory", { body: { userId: "ann-77" } });
  expect(inventory.places.map(({ where }) => where).join(" ")).toContain("trip-1");
  const plan = await ask("planErasure", { body: { userId: "ann-77" } });
  expect(plan.unreached.length).toBeGreaterThan(0);
  await expect(ask("erase", { body: { planId: plan.planId, typed: "another name" } })).rejects.toThrow(
    "INVALID_ARGUMENT",
  );
  const done = await ask("erase", { body: { planId: plan.planId, typed: "ann-77", reason: "asked for" } });
  expect(done).toMatchObject({ number: 1, verified: true, left: 0 });
  expect(done.receipt).not.toContain("ann-77");
  expect(notes.join(" ")).not.toContain("ann-77");
  await expect(ask("erase", { body: { planId: plan.planId, typed: "ann-77" } })).rejects.toThrow("CONFLICT");
  expect((await ask("inventory", { body: { userId: "ann-77" } })).total).toBe(0);
});

test("the cases of doctor are run on the store line by line and leave nothing behind; without --write they are refused", async () => {
  const checkpointer = new MemoryCheckpointer();
  await checkpointer.save(AgentState.create(), "mine");
  const command = { stores: ["memory:"], open: async () => checkpointer, world: { now: Date.now } };
  const provesCases = (signal: AbortSignal) => caseLines(command, checkpointer, signal);
  const { text } = await studioOn(checkpointer, { mayWrite: true, provesCases });
  const lines = (await text("cases")).trim().split("\n");
  const last = JSON.parse(lines.at(-1) ?? "") as { passed: number };
  expect(last).toMatchObject({ type: "end", failed: 0, leftBehind: 0 });
  expect(last.passed).toBeGreaterThan(80);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "progress", done: 1 });
  expect([...(await checkpointer.listThreads())]).toEqual(["mine"]);
  const looking = await studioOn(checkpointer, { provesCases });
  expect(await looking.text("cases")).toContain("PERMISSION_DENIED");
});

test("an edit that cannot be a state, or that would part a call from its result, is refused and makes no thread", async () => {
  const checkpointer = new MemoryCheckpointer();
  await fillStory(checkpointer, new StoryClock());
  const { ask } = await studioOn(checkpointer, { mayWrite: true });
  const edit = (path: readonly (string | number)[], value: unknown, dropAfter = false) =>
    ask("edit", { thread: "trip-42", body: { target: "edited", path, value, dropAfter } });
  await expect(edit(["messages", 0, "role"], "unknown")).rejects.toThrow("INVALID_ARGUMENT");
  await expect(edit(["messages", 2, "content"], "no flights", true)).rejects.toThrow("would lose its result");
  await expect(edit(["nothing"], 1)).rejects.toThrow("INVALID_ARGUMENT");
  await expect(edit(["__proto__", "polluted"], 1)).rejects.toThrow("INVALID_ARGUMENT");
  expect(await checkpointer.exists("edited")).toBe(false);
  await edit(["messages", 1, "content"], "To Porto instead.", true);
  const state = await checkpointer.load("edited");
  expect(state?.messages.map(({ content }) => content)).toEqual([
    "You plan trips. Ask before you book anything.",
    "To Porto instead.",
  ]);
  expect([state?.toolExecutions, state?.interrupts]).toEqual([[], []]);
});
