import { describe, expect, test } from "vitest";
import { AlteredLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { StateSchema } from "../../state/fields.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";

describe("a thread written by a newer version of holdfast", () => {
  async function oldAndNew(): Promise<Checkpointer> {
    const log = new AlteredLog();
    const checkpointer = new Checkpointer(log, { cacheBytes: 0 });
    for (const thread of ["a old", "b new", "c old"]) {
      const state = AgentState.create().withMessage(userMessage(`hello from ${thread}`));
      await checkpointer.save(state, thread, { checkpointId: "c1" });
    }
    log.alter = (entry, threadId) => {
      const header = entry.header.replace(/"format":1/, '"format":2');
      return threadId === "b new" ? { ...entry, header } : entry;
    };
    return checkpointer;
  }

  test.each([
    ["load", (checkpointer: Checkpointer) => checkpointer.load("b new")],
    ["load by name", (checkpointer: Checkpointer) => checkpointer.load("b new", { checkpointId: "c1" })],
    ["listCheckpoints", (checkpointer: Checkpointer) => checkpointer.listCheckpoints("b new")],
    ["fork", (checkpointer: Checkpointer) => checkpointer.fork("b new", "d")],
  ])("is INCOMPATIBLE for %s, and the error names it", async (_, call) => {
    const checkpointer = await oldAndNew();
    const failure = await failureOf(() => call(checkpointer));
    expect(failure).toMatchObject({ code: "INCOMPATIBLE", context: { threadId: "b new" } });
    expect(failure.message).toContain("format v2; this build reads up to v1. Upgrade holdfast");
  });

  test("does not keep the other threads from being read, written and forked", async () => {
    const checkpointer = await oldAndNew();
    for (const thread of ["a old", "c old"]) {
      const state = (await checkpointer.load(thread))!;
      await checkpointer.save(state.withMessage(userMessage("more")), thread);
      expect((await checkpointer.load(thread))?.messages).toHaveLength(2);
      await checkpointer.fork(thread, `${thread} fork`);
    }
  });

  test("is still listed among the threads, and the others with it", async () => {
    const checkpointer = await oldAndNew();
    expect(await checkpointer.listThreads()).toEqual(["a old", "b new", "c old"]);
  });

  test("can still be deleted", async () => {
    const checkpointer = await oldAndNew();
    expect(await checkpointer.delete("b new")).toBe(true);
    expect(await checkpointer.load("b new")).toBeUndefined();
  });
});

test("a value of a kind that only a newer version knows is INCOMPATIBLE, in one thread", async () => {
  const log = new AlteredLog();
  const checkpointer = new Checkpointer(log);
  await checkpointer.save(AgentState.create(), "old", { metadata: { n: 1n } });
  await checkpointer.save(AgentState.create(), "new", { metadata: { n: 1n } });
  log.alter = (entry, threadId) =>
    threadId === "new" ? { ...entry, metadata: entry.metadata!.replace("bigint", "decimal") } : entry;
  expect(await failureOf(() => checkpointer.getMetadata("new"))).toMatchObject({ code: "INCOMPATIBLE" });
  expect(await checkpointer.getMetadata("old")).toEqual({ n: 1n });
});

describe("the version of the program's own state", () => {
  /** Version 1 counts in tens of what version 0 did, version 2 in strings: migrating twice would show. */
  const schema = (version: number): StateSchema => ({
    version,
    migrate: (fields, from) => {
      const count = fields.metadata["count"];
      return {
        ...fields,
        metadata: { ...fields.metadata, count: from === 0 ? Number(count) * 10 : `n=${String(count)}` },
      };
    },
  });
  const programs = (log: MemoryLog): Checkpointer[] => [
    new Checkpointer(log),
    new Checkpointer(log, { stateSchema: schema(1) }),
    new Checkpointer(log, { stateSchema: schema(2) }),
  ];
  const counting = (count: unknown): AgentState => AgentState.create({ metadata: { count } });
  const countIn = async (checkpointer: Checkpointer, checkpointId?: string): Promise<unknown> =>
    (await checkpointer.load("t", checkpointId === undefined ? {} : { checkpointId }))?.metadata["count"];

  test("an older state is brought up to date on load, one version at a time", async () => {
    const [v0, v1, v2] = programs(new MemoryLog()) as [Checkpointer, Checkpointer, Checkpointer];
    await v0.save(counting(4), "t");
    expect(await countIn(v1)).toBe(40);
    expect(await countIn(v2)).toBe("n=40");
    expect(await countIn(v0), "what is stored stays as it was").toBe(4);
  });

  test("a state saved after migrating is not migrated again, and older checkpoints still are", async () => {
    const [v0, v1, v2] = programs(new MemoryLog()) as [Checkpointer, Checkpointer, Checkpointer];
    await v0.save(counting(4), "t", { checkpointId: "zero" });
    await v1.save((await v1.load("t"))!.withMessage(userMessage("a")), "t", { checkpointId: "one" });
    await v1.save((await v1.load("t"))!.withMessage(userMessage("b")), "t", { checkpointId: "one and a bit" });
    await v2.save((await v2.load("t"))!.withMessage(userMessage("c")), "t", { checkpointId: "two" });
    for (const name of ["zero", "one", "one and a bit", "two"]) expect(await countIn(v2, name), name).toBe("n=40");
    expect((await v2.load("t"))?.messages).toHaveLength(3);
    expect(await countIn(v1, "one")).toBe(40);
  });

  test("a chain of both versions survives the deletion of its middle", async () => {
    const [v0, v1] = programs(new MemoryLog()) as [Checkpointer, Checkpointer];
    await v0.save(counting(1), "t", { checkpointId: "a" });
    await v0.save((await v0.load("t"))!.withMetadata({ count: 2 }), "t", { checkpointId: "b" });
    await v1.save((await v1.load("t"))!.withMetadata({ count: 30 }), "t", { checkpointId: "c" });
    await v1.save((await v1.load("t"))!.withMetadata({ count: 40 }), "t", { checkpointId: "d" });
    for (const name of ["b", "c"]) await v1.delete("t", { checkpointId: name });
    expect([await countIn(v1, "a"), await countIn(v1, "d")]).toEqual([10, 40]);
  });

  test("a newer state is INCOMPATIBLE for an older program, and names the thread", async () => {
    const [, v1, v2] = programs(new MemoryLog()) as [Checkpointer, Checkpointer, Checkpointer];
    await v2.save(counting("n=1"), "t");
    const failure = await failureOf(() => v1.load("t"));
    expect(failure).toMatchObject({ code: "INCOMPATIBLE", context: { threadId: "t" } });
    expect(failure.message).toContain("the state has schema version 2; this program knows up to 1");
  });

  test("a fork keeps the version of what it was forked from", async () => {
    const [v0, v1] = programs(new MemoryLog()) as [Checkpointer, Checkpointer];
    await v0.save(counting(4), "source");
    await v1.fork("source", "t");
    expect(await countIn(v1)).toBe(40);
  });

  test("a program without a schema keeps the version of a state it only adds to", async () => {
    const [v0, v1] = programs(new MemoryLog()) as [Checkpointer, Checkpointer];
    await v1.save(counting(40), "t");
    await v0.save((await v0.load("t"))!.withMessage(userMessage("from a tool that knows no schema")), "t");
    expect(await countIn(v1), "migrated a second time").toBe(40);
  });

  test("what a migration makes is frozen and checked like any other state", async () => {
    const log = new MemoryLog();
    const bad: StateSchema = { version: 1, migrate: (fields) => ({ ...fields, metadata: { f: () => 1 } }) };
    await new Checkpointer(log).save(counting(1), "t");
    const failure = await failureOf(() => new Checkpointer(log, { stateSchema: bad }).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { path: "state.metadata.f" } });
    const state = (await new Checkpointer(log, { stateSchema: schema(1) }).load("t"))!;
    expect(Object.isFrozen(state.metadata)).toBe(true);
  });
});
