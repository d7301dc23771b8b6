import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exactForm } from "../../../test/exact-form.ts";
import { LOCAL_BACKENDS, type LocalStorage } from "../../../test/local-backends.ts";
import { type SmallRecords, smallRecords } from "../../../test/small-records-log.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { contextOf } from "../context.ts";

const SAVES = 100;
const name = { checkpointId: "latest" };
const kilobyte = (index: number): ReturnType<typeof userMessage> => userMessage(`word${index} `.padEnd(1024, "x"));
const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

describe.each(LOCAL_BACKENDS)("on $name, saves under one name", ({ create }) => {
  let storage: LocalStorage;
  let counted: SmallRecords;
  let checkpointer: Checkpointer;
  beforeEach(async () => {
    storage = await create();
    counted = smallRecords(contextOf(storage.open())!.log, 64 * 1024 * 1024);
    checkpointer = new Checkpointer(counted.log);
  });
  afterEach(() => storage.dispose());

  test("write what is new, and the one checkpoint there is loads", async () => {
    let state = AgentState.create();
    for (let index = 0; index < SAVES; index++) {
      state = state.withMessage(kilobyte(index)).withUsage({ iterations: 1 });
      await checkpointer.save(state, "t", name);
    }
    expect(sum(counted.written)).toBeLessThan(6 * SAVES * 1024);
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
    expect(exactForm((await checkpointer.load("t", name))?.fields)).toBe(exactForm(state.fields));
    expect((await checkpointer.search("word3", { limit: 500 })).map((hit) => hit.checkpointId)).toEqual(["latest"]);
  });

  test("after a load each time write what is new too", async () => {
    await checkpointer.save(AgentState.create(), "t", name);
    for (let index = 0; index < 50; index++) {
      await checkpointer.save((await checkpointer.load("t"))!.withMessage(kilobyte(index)), "t", name);
    }
    expect(sum(counted.written)).toBeLessThan(6 * 50 * 1024);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(50);
  });
});

describe("what a name was moved from", () => {
  test("is gone from the store once nothing builds on it, by a compaction or a vacuum", async () => {
    const log = new MemoryLog();
    const checkpointer = new Checkpointer(log);
    const held = async (): Promise<string> =>
      Buffer.concat((await log.readTail("t"))!.records.map(({ body }) => body)).toString("utf8");
    let state = AgentState.create().withMetadata({ secret: "overwritten" });
    for (let index = 0; index < 20; index++) {
      state = state.withMessage(kilobyte(index)).withMetadata({ secret: `number ${index}` });
      await checkpointer.save(state, "t", name);
    }
    expect(await checkpointer.vacuum({ keepLast: 5 })).toMatchObject({ checkpoints: 0 });
    expect(await held()).not.toContain("number 5");
    expect((await checkpointer.load("t"))?.messages).toHaveLength(20);
    state = state.withHistory([userMessage("summary")]);
    await checkpointer.save(state, "t", name);
    expect(await held()).not.toContain("word5");
    const [newest] = (await log.readTail("t"))!.records;
    expect(newest?.checkpointId).toBe("latest");
    expect(await log.readCheckpoint("t", "latest")).toBeDefined();
  });

  test("is taken as it is now, not as it was saved: a vacuum or a deletion in between does no harm", async () => {
    const log = new MemoryLog();
    const [checkpointer, other] = [new Checkpointer(log), new Checkpointer(log)];
    let state = AgentState.create();
    await checkpointer.save(state, "t", { checkpointId: "first" });
    const between = [
      () => other.vacuum({ keepLast: 1 }),
      () => other.withLease("t", async () => undefined),
      () => other.delete("t", { checkpointId: "first" }),
      () => other.vacuum({ keepLast: 1 }),
    ];
    for (const [index, act] of between.entries()) {
      for (let step = 0; step < 3; step++) {
        state = state.withMessage(kilobyte(index * 3 + step));
        await checkpointer.save(state, "t", name);
      }
      await act();
      state = state.withMessage(userMessage(`after ${index}`));
      await checkpointer.save(state, "t", name);
      expect(exactForm((await other.load("t", name))?.fields)).toBe(exactForm(state.fields));
    }
  });

  test("stays found by a search while a checkpoint holds it, also after the name's record became a base", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    let state = AgentState.create();
    for (let index = 0; index < 100; index++) {
      state = state.withMessage(kilobyte(index)).withProviderState({ cache: `${index} `.padEnd(9000, "c") });
      await checkpointer.save(state, "t", name);
    }
    expect((await checkpointer.stats("t"))?.loadRecords).toBeLessThan(100);
    for (const index of [0, 42, 99]) {
      const hits = await checkpointer.search(`word${index}`);
      expect(hits.map(({ checkpointId }) => checkpointId)).toEqual(["latest"]);
    }
  });

  test("does not crowd other threads out of a search", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    let state = AgentState.create();
    for (let index = 0; index < 60; index++) {
      state = state.withMessage(userMessage("needle"));
      await checkpointer.save(state, "busy", name);
    }
    await checkpointer.save(AgentState.create().withMessage(userMessage("a needle among other words")), "quiet");
    const hits = await checkpointer.search("needle", { limit: 2 });
    expect(hits.map(({ threadId }) => threadId).sort()).toEqual(["busy", "quiet"]);
  });
});

test("a small state that is overwritten again and again is read from few records", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  let [state, most] = [AgentState.create().withMessage(userMessage("hello")), 0];
  for (let step = 0; step < 500; step++) {
    state = state.withMetadata({ step });
    await checkpointer.save(state, "t");
    most = Math.max(most, (await checkpointer.stats("t"))?.loadRecords ?? 0);
  }
  expect(most).toBeLessThanOrEqual(65);
});
