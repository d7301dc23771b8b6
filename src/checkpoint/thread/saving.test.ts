import { describe, expect, test } from "vitest";
import { BreakingLog } from "../../../test/altered-log.ts";
import { exactForm } from "../../../test/exact-form.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { hintedSeq } from "../../driver/ids.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { type SaveOptions, uncheckedHead } from "../base-checkpointer.ts";
import { Checkpointer } from "../checkpointer.ts";

const said = (...texts: string[]): AgentState =>
  AgentState.create().withMessages(texts.map((text) => userMessage(text)));
const namesIn = async (checkpointer: Checkpointer, thread: string): Promise<string[]> =>
  (await checkpointer.listCheckpoints(thread, { limit: 100 })).map(({ checkpointId }) => checkpointId);

test("an id that is made for a checkpoint hints at its position, and one that was chosen stays as it is", async () => {
  const log = new MemoryLog();
  const checkpointer = new Checkpointer(log);
  const ids: string[] = [];
  let state = AgentState.create();
  for (const options of [
    {},
    { writeId: "w" },
    { checkpointId: "chosen" },
    { writeId: "v", checkpointId: "other" },
    {},
  ]) {
    state = state.withMessage(userMessage("more"));
    ids.push(await checkpointer.save(state, "t", options));
  }
  expect(ids.map(hintedSeq)).toEqual([1, 2, undefined, undefined, 5]);
  expect([ids[2], ids[3]]).toEqual(["chosen", "other"]);
  const entries = await log.list("t", { limit: 9 });
  expect(entries.map(({ writeId, checkpointId }) => writeId === checkpointId)).toEqual([
    true,
    false,
    false,
    false,
    true,
  ]);
  expect(hintedSeq(await checkpointer.fork("t", "fork"))).toBe(1);
});

describe("a save that failed and may have been made, repeated", () => {
  const once = { retry: { attempts: 1 } };
  const ways: readonly [what: string, options: SaveOptions][] = [
    ["as it was", {}],
    ["under a name", { checkpointId: "named" }],
    ["with a write id", { writeId: "w" }],
    ["with a write id and a name", { writeId: "w", checkpointId: "named" }],
    ["whatever the head is", { expectedHead: uncheckedHead }],
  ];

  describe.each(["before", "after"] as const)("the connection broke %s the write", (moment) => {
    test.each(ways)("the first save of a thread, %s, is applied once", async (_, options) => {
      const log = new BreakingLog();
      const checkpointer = new Checkpointer(log, once);
      const state = said("a");
      log.failures.push(moment);
      expect(await failureOf(() => checkpointer.save(state, "t", options))).toMatchObject({ retryable: true });
      const id = await checkpointer.save(state, "t", options);
      expect(await namesIn(checkpointer, "t")).toEqual([id]);
      await checkpointer.save(state.withMessage(userMessage("b")), "t");
      expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
    });

    test.each(ways)("a later save, %s, is applied once", async (_, options) => {
      const log = new BreakingLog();
      const checkpointer = new Checkpointer(log, once);
      const first = said("a");
      const firstId = await checkpointer.save(first, "t");
      const state = first.withMessage(userMessage("b"));
      log.failures.push(moment, moment);
      await failureOf(() => checkpointer.save(state, "t", options));
      // The second attempt may find the first one's write, or meet the second failure.
      await checkpointer.save(state, "t", options).catch(() => undefined);
      log.failures.length = 0;
      const id = await checkpointer.save(state, "t", options);
      const names = await namesIn(checkpointer, "t");
      expect(names).toContain(id);
      expect(names.at(-1)).toBe(firstId);
      expect(await checkpointer.load("t", { checkpointId: id })).toBeDefined();
    });

    test("with the head it expects named by the caller, it is applied once", async () => {
      const log = new BreakingLog();
      const checkpointer = new Checkpointer(log, once);
      await checkpointer.save(said("a"), "t", { checkpointId: "head" });
      const elsewhere = said("b");
      log.failures.push(moment);
      await failureOf(() => checkpointer.save(elsewhere, "t", { expectedHead: "head" }));
      const id = await checkpointer.save(elsewhere, "t", { expectedHead: "head" });
      expect(await namesIn(checkpointer, "t")).toEqual([id, "head"]);
    });

    test("moving a name, it is applied once", async () => {
      const log = new BreakingLog();
      const checkpointer = new Checkpointer(log, once);
      const first = said("a");
      await checkpointer.save(first, "t", { checkpointId: "named" });
      const second = first.withMessage(userMessage("b"));
      await checkpointer.save(second, "t", { checkpointId: "between" });
      const third = second.withMessage(userMessage("c"));
      log.failures.push(moment);
      await failureOf(() => checkpointer.save(third, "t", { checkpointId: "named" }));
      await checkpointer.save(third, "t", { checkpointId: "named" });
      expect(await namesIn(checkpointer, "t")).toEqual(["named", "between"]);
      expect((await checkpointer.load("t", { checkpointId: "between" }))?.messages).toHaveLength(2);
    });

    test("in one of two stores, saving to the other in between does not make it two", async () => {
      const [log, other] = [new BreakingLog(), new MemoryLog()];
      const [here, there] = [new Checkpointer(log, once), new Checkpointer(other)];
      const state = said("a");
      log.failures.push(moment);
      await failureOf(() => here.save(state, "t"));
      await there.save(state, "t");
      const id = await here.save(state, "t");
      expect(await namesIn(here, "t")).toEqual([id]);
    });
  });

  test("under another name than the first time: the name it returns is the name it has", async () => {
    const log = new BreakingLog();
    const checkpointer = new Checkpointer(log, once);
    const state = said("a");
    log.failures.push("after");
    await failureOf(() => checkpointer.save(state, "t"));
    const id = await checkpointer.save(state, "t", { checkpointId: "named" });
    expect(await checkpointer.exists("t", { checkpointId: id })).toBe(true);
    expect((await namesIn(checkpointer, "t"))[0]).toBe(id);
  });

  test("from another process, by its write id, is applied once and told its name", async () => {
    const log = new MemoryLog();
    const [one, two] = [new Checkpointer(log), new Checkpointer(log)];
    const id = await one.save(said("a"), "t", { writeId: "turn 1" });
    expect(await two.save(said("a"), "t", { writeId: "turn 1" })).toBe(id);
    const next = await one.save((await one.load("t"))!.withMessage(userMessage("b")), "t", { writeId: "turn 2" });
    const again = await two.save(said("a", "b"), "t", { writeId: "turn 2", expectedHead: id });
    expect(again).toBe(next);
    expect(await namesIn(two, "t")).toEqual([next, id]);
  });

  test("after another writer took the place, is a conflict and not a loss", async () => {
    const log = new BreakingLog();
    const checkpointer = new Checkpointer(log, once);
    await checkpointer.save(said("a"), "t");
    const [mine, theirs] = [await checkpointer.load("t"), await checkpointer.load("t")];
    const unlucky = mine!.withMessage(userMessage("mine"));
    log.failures.push("before");
    await failureOf(() => checkpointer.save(unlucky, "t"));
    await checkpointer.save(theirs!.withMessage(userMessage("theirs")), "t");
    expect(await failureOf(() => checkpointer.save(unlucky, "t"))).toMatchObject({ code: "CONFLICT" });
  });

  test("is repeated by itself a few times before the caller gets an error", async () => {
    const log = new BreakingLog();
    const checkpointer = new Checkpointer(log, { retry: { attempts: 3, baseDelayMs: 1 } });
    log.failures.push("after", "before");
    const id = await checkpointer.save(said("a"), "t");
    expect(log.appends).toBe(3);
    expect(await namesIn(checkpointer, "t")).toEqual([id]);
  });
});

describe("two writers", () => {
  test("the second gets CONFLICT with both heads, and nothing of it is stored", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const first = said("a");
    const before = await checkpointer.save(first, "t");
    const [one, two] = [first.withMessage(userMessage("one")), first.withMessage(userMessage("two"))];
    const winner = await checkpointer.save(one, "t");
    const failure = await failureOf(() => checkpointer.save(two, "t"));
    expect(failure).toMatchObject({
      code: "CONFLICT",
      context: { expected: before, actual: winner, written: "no", threadId: "t", operation: "save" },
    });
    expect(failure.message).toBe(
      `memory: thread "t" has moved on: expected ${before}, found ${winner}. Load it again and redo the change; nothing was written`,
    );
    expect(exactForm((await checkpointer.load("t"))!.fields)).toBe(exactForm(one.fields));
  });

  test("a state that never was saved must not meet a thread", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const id = await checkpointer.save(said("a"), "t");
    expect(await failureOf(() => checkpointer.save(said("b"), "t"))).toMatchObject({
      code: "CONFLICT",
      context: { expected: null, actual: id },
    });
  });

  test("a state of a thread that was deleted does not bring it back", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const state = said("a");
    await checkpointer.save(state, "t");
    await checkpointer.delete("t");
    expect(await failureOf(() => checkpointer.save(state.withMessage(userMessage("b")), "t"))).toMatchObject({
      code: "CONFLICT",
      context: { actual: null },
    });
    await checkpointer.save(said("anew"), "t");
    expect(await failureOf(() => checkpointer.save(state.withMessage(userMessage("b")), "t"))).toMatchObject({
      code: "CONFLICT",
    });
  });
});

describe("records that are no checkpoints do not disturb a save", () => {
  const between: readonly [what: string, act: (checkpointer: Checkpointer) => Promise<unknown>][] = [
    ["a vacuum", (checkpointer) => checkpointer.vacuum({ keepLast: 1 })],
    ["the deletion of an older checkpoint", (checkpointer) => checkpointer.delete("t", { checkpointId: "c2" })],
    ["a lease taken and given back", (checkpointer) => checkpointer.withLease("t", async () => undefined)],
    [
      "a newer checkpoint that came and went",
      async (checkpointer) => {
        const other = (await checkpointer.load("t"))!.withMessage(userMessage("short-lived"));
        await checkpointer.save(other, "t", { checkpointId: "brief" });
        await checkpointer.delete("t", { checkpointId: "brief" });
      },
    ],
  ];
  test.each(between)("%s between load and save", async (_, act) => {
    const log = new MemoryLog();
    const [mine, other] = [new Checkpointer(log), new Checkpointer(log)];
    let state = said("1");
    for (let step = 1; step <= 3; step++) {
      await mine.save(state, "t", { checkpointId: `c${step}` });
      state = state.withMessage(userMessage(`${step + 1}`));
    }
    const loaded = (await mine.load("t"))!;
    await act(other);
    await mine.save(loaded.withMessage(userMessage("mine")), "t", { checkpointId: "last" });
    await act(other).catch(() => undefined);
    const [newest, head] = [await other.load("t"), await other.load("t", { checkpointId: "last" })];
    expect(newest?.messages.map(({ content }) => content)).toEqual(["1", "2", "3", "mine"]);
    expect(exactForm(head?.fields)).toBe(exactForm(newest?.fields));
    for await (const { checkpointId } of other.history("t"))
      expect(await other.load("t", { checkpointId })).toBeDefined();
  });
});

describe("moving a name", () => {
  test("the name is at the new place only, and every other checkpoint keeps its state", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    let state = said();
    const forms = new Map<string, string>();
    for (const name of ["a", "named", "b", "c", "named", "d", "named", "named"]) {
      state = state.withMessage(userMessage(`at ${name} ${state.messages.length}`));
      await checkpointer.save(state, "t", { checkpointId: name });
      forms.set(name, exactForm(state.fields));
    }
    expect(await namesIn(checkpointer, "t")).toEqual(["named", "d", "c", "b", "a"]);
    for (const [checkpointId, form] of forms) {
      expect(exactForm((await checkpointer.load("t", { checkpointId }))?.fields), checkpointId).toBe(form);
    }
  });

  test("the metadata that counts is that of the last save under the name", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const state = said("a");
    await checkpointer.save(state, "t", { checkpointId: "named", metadata: { n: 1 } });
    await checkpointer.save(state, "t", { checkpointId: "named" });
    expect(await checkpointer.getMetadata("t", { checkpointId: "named" })).toEqual({});
  });
});

test("a save whose arguments are refused writes nothing", async () => {
  const log = new BreakingLog();
  const checkpointer = new Checkpointer(log);
  const state = said("a");
  const refused: (() => Promise<unknown>)[] = [
    () => checkpointer.save(state, ""),
    () => checkpointer.save(state, "t", { checkpointId: "\u0000" }),
    () => checkpointer.save(state, "t", { writeId: "" }),
    () => checkpointer.save(state, "t", { metadata: { f: () => 1 } }),
  ];
  for (const call of refused) expect(await failureOf(call)).toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(checkpointer.save({} as AgentState, "t")).rejects.toThrow(TypeError);
  await expect(checkpointer.save("t" as unknown as AgentState, state as unknown as string)).rejects.toThrow(
    "save() takes an AgentState first and the thread id second",
  );
  expect(log.appends).toBe(0);
});
