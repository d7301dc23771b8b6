import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exactForm } from "../../../test/exact-form.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { LOCAL_BACKENDS, type LocalStorage } from "../../../test/local-backends.ts";
import { type SmallRecords, smallRecords } from "../../../test/small-records-log.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { contextOf } from "../context.ts";
import type { ThreadLog } from "../log/thread-log.ts";

const MAX = 64 * 1024;
const KILOBYTES = 20;

const long = (index: number): ReturnType<typeof userMessage> =>
  userMessage(`word${index} ${"x".repeat(KILOBYTES * 1024)}`);

describe.each(LOCAL_BACKENDS)("on $name, a state larger than the largest record", ({ create }) => {
  let storage: LocalStorage;
  let small: SmallRecords;
  let checkpointer: Checkpointer;
  beforeEach(async () => {
    storage = await create();
    small = smallRecords(contextOf(storage.open())!.log, MAX);
    checkpointer = new Checkpointer(small.log);
  });
  afterEach(() => storage.dispose());

  /** Twelve saves of twenty kilobytes each: four times what a record takes. */
  async function grow(threadId = "t", count = 12): Promise<AgentState> {
    let state = AgentState.create();
    for (let index = 0; index < count; index++) {
      state = state.withMessage(long(index));
      await checkpointer.save(state, threadId, { checkpointId: `c${index}` });
    }
    return state;
  }

  async function assertWhole(threadId: string, state: AgentState): Promise<void> {
    expect(exactForm((await checkpointer.load(threadId))?.fields)).toBe(exactForm(state.fields));
    for await (const { checkpointId, messageCount } of checkpointer.history(threadId)) {
      expect((await checkpointer.load(threadId, { checkpointId }))?.messages).toHaveLength(messageCount ?? -1);
    }
  }

  test("grows by deltas, loads, and stays savable", async () => {
    let state = await grow("t", 40);
    await assertWhole("t", state);
    expect(small.written.reduce((sum, size) => sum + size, 0)).toBeLessThan(4 * 40 * KILOBYTES * 1024);
    for (let step = 0; step < 40; step++) {
      state = state.withMetadata({ draft: `${step} ${"y".repeat(10_000)}` });
      await checkpointer.save(state, "t");
    }
    await assertWhole("t", state);
  });

  test("is saved after it was loaded, edited, cut short and compacted", async () => {
    await grow();
    let state = (await checkpointer.load("t"))!;
    const edits: ((state: AgentState) => AgentState)[] = [
      (before) => before.withHistory([...before.messages.slice(0, -1), userMessage("edited")]),
      (before) => before.withHistory(before.messages.slice(0, 8)),
      (before) => before.with({ agentId: "a", metadata: { one: 1 } }),
      (before) => before.withHistory([userMessage("summary"), ...before.messages.slice(-2)]),
    ];
    for (const edit of edits) {
      state = edit(state);
      await checkpointer.save(state, "t");
      await assertWhole("t", state);
    }
  });

  test("that is rewritten by more than a record takes is refused, says what to do, and that works", async () => {
    const state = await grow();
    const turned = state.messages.toReversed();
    const failure = await failureOf(() => checkpointer.save(state.withHistory(turned), "t"));
    expect(failure).toMatchObject({ code: "TOO_LARGE", context: { written: "no", threadId: "t" } });
    expect(failure.message).toMatch(/Save it in several steps, with fewer new messages or fields in each/);
    await assertWhole("t", state);
    let next = state.withHistory([]);
    for (const message of turned) {
      next = next.withMessage(message);
      await checkpointer.save(next, "t");
    }
    await assertWhole("t", next);
    const unsaved = AgentState.create().withMessages(turned);
    expect(await failureOf(() => checkpointer.save(unsaved, "new"))).toMatchObject({ code: "TOO_LARGE" });
    expect(await checkpointer.exists("new")).toBe(false);
  });

  test("is forked whole, from its head and from the past, and goes on", async () => {
    const state = await grow();
    await checkpointer.fork("t", "u");
    await checkpointer.fork("t", "v", { at: "c5" });
    await assertWhole("u", state);
    expect((await checkpointer.load("v"))?.messages).toHaveLength(6);
    expect(await checkpointer.lineage("u")).toEqual([{ threadId: "t", checkpointId: "c11" }]);
    expect(await checkpointer.listCheckpoints("u")).toHaveLength(1);
    await checkpointer.delete("t");
    const longer = (await checkpointer.load("u"))!.withMessage(long(12));
    await checkpointer.save(longer, "u");
    await assertWhole("u", longer);
    expect(await failureOf(() => checkpointer.fork("u", "v"))).toMatchObject({ code: "CONFLICT" });
    await checkpointer.fork("u", "w");
    await assertWhole("w", longer);
    const hits = (await checkpointer.search("word3", { limit: 100 })).map(({ threadId }) => threadId).sort();
    expect(hits).toEqual(["u", "v", "w"]);
  });

  test("is copied, vacuumed and has checkpoints deleted, and every checkpoint that is left loads", async () => {
    const state = await grow();
    await checkpointer.copyThread("t", "u");
    await assertWhole("u", state);
    await checkpointer.vacuum({ keepLast: 1 });
    await assertWhole("t", state);
    for (let index = 0; index < 11; index++) {
      const gone = await checkpointer.delete("u", { checkpointId: `c${index}` }).catch((error: unknown) => {
        expect(error).toMatchObject({ code: "TOO_LARGE" });
        return false;
      });
      expect(await checkpointer.exists("u", { checkpointId: `c${index}` })).toBe(!gone);
    }
    await assertWhole("u", state);
    await checkpointer.save(state.withMessage(long(12)), "t");
    await assertWhole("t", state.withMessage(long(12)));
  });

  test("loses by a vacuum what is older than what it builds on", async () => {
    let state = AgentState.create().withMessage(userMessage("old"));
    for (let index = 0; index < 5; index++) {
      state = state.withMetadata({ index });
      await checkpointer.save(state, "t");
    }
    state = state.withHistory([long(0), long(1)]);
    await checkpointer.save(state, "t", { checkpointId: "base" });
    for (let index = 2; index < 9; index++) {
      state = state.withMessage(long(index));
      await checkpointer.save(state, "t");
    }
    expect(await checkpointer.vacuum({ keepLast: 1, dryRun: true })).toMatchObject({ checkpoints: 5 });
    expect(await checkpointer.vacuum({ keepLast: 1 })).toMatchObject({ checkpoints: 5 });
    expect(await checkpointer.exists("t", { checkpointId: "base" })).toBe(true);
    await assertWhole("t", state);
  });

  test("is brought up to a new schema by a delta", async () => {
    const state = await grow();
    const stateSchema = {
      version: 1,
      migrate: (fields: AgentState["fields"]) => ({ ...fields, metadata: { ...fields.metadata, migrated: true } }),
    };
    const newer = new Checkpointer(small.log, { stateSchema });
    const migrated = (await newer.load("t"))!;
    expect(migrated.metadata).toEqual({ migrated: true });
    await newer.save(migrated.withMessage(userMessage("on")), "t");
    expect(small.written.at(-1)).toBeLessThan(1000);
    const loaded = (await newer.load("t"))!;
    expect(loaded.metadata).toEqual({ migrated: true });
    expect(loaded.messages).toHaveLength(state.messages.length + 1);
    expect((await newer.load("t", { checkpointId: "c3" }))?.metadata).toEqual({ migrated: true });
  });
});

test("28 messages with files of 2.5 MB each are saved, load, fork and go on", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  let state = AgentState.create();
  for (let index = 0; index < 28; index++) {
    const data = new Uint8Array(2_500_000).fill(index);
    state = state.withMessage(userMessage([{ type: "file", mediaType: "application/pdf", data }]));
    await checkpointer.save(state, "t");
  }
  const loaded = (await checkpointer.load("t"))!;
  expect(loaded.messages).toHaveLength(28);
  // toEqual would compare two and a half million bytes one by one, for most of a minute.
  expect(exactForm(loaded.messages[27]) === exactForm(state.messages[27])).toBe(true);
  await checkpointer.save(loaded.with({ agentId: "a" }).withHistory(loaded.messages.slice(0, 27)), "t");
  await checkpointer.fork("t", "u");
  await checkpointer.vacuum({ keepLast: 1 });
  for (const thread of ["t", "u"]) expect((await checkpointer.load(thread))?.messages).toHaveLength(27);
  expect(AgentState.fromCheckpoint(loaded.toCheckpoint()).messages).toHaveLength(28);
});

test("what an attempt at a fork left behind when it broke off is taken away by the next", async () => {
  const inner = new MemoryLog();
  const { log } = smallRecords(inner, MAX);
  const checkpointer = new Checkpointer(log, { retry: { attempts: 1 } });
  let state = AgentState.create();
  for (let index = 0; index < 8; index++) {
    state = state.withMessage(long(index));
    await checkpointer.save(state, "t");
  }
  let left = 3;
  const breaking = new Proxy(log, {
    get: (target, key) => {
      if (key !== "append") return Reflect.get(target, key);
      return (...given: Parameters<ThreadLog["append"]>) =>
        left-- <= 0 ? Promise.reject(new Error("cut")) : target.append(...given);
    },
  });
  await failureOf(() => new Checkpointer(breaking, { retry: { attempts: 1 } }).fork("t", "u"));
  expect(await checkpointer.load("u"), "half a fork is no thread").toBeUndefined();
  expect(await checkpointer.listThreads()).toEqual(["t"]);
  await checkpointer.fork("t", "u");
  expect(exactForm((await checkpointer.load("u"))?.fields)).toBe(exactForm(state.fields));
  expect((await inner.readTail("u"))?.records[0]?.seq).toBe(4);
});
