import { afterEach, describe, expect, test } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { scriptedModel } from "../../src/entry/testing.ts";
import { Agent, uncheckedHead } from "../../src/index.ts";
import { type CheckpointSaver, saverOf } from "../../src/saver/checkpoint-saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { localPlace, type SaverPlace } from "./saver-places.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** A storage with a thread of an agent's and one of a graph's. */
async function bothIn(place: SaverPlace): Promise<{ checkpointer: Checkpointer; saver: CheckpointSaver }> {
  const checkpointer = place.open();
  const saver = saverOf(checkpointer);
  await checkpointer.save(said("the agent speaks of marmots"), "agent", { checkpointId: "a1", metadata: { tag: "x" } });
  const messages = ["the graph speaks of badgers, at some length", "and of marmots"];
  const put = { threadId: "graph", checkpointData: { values: { messages } }, metadata: { tag: "x" } };
  await saver.put({ ...put, checkpointId: "g1" });
  await saver.putWrites({
    threadId: "graph",
    checkpointId: "g1",
    taskId: "t",
    writes: [["messages", ["badgers again"]]],
  });
  await saver.put({ ...put, checkpointId: "g2", parentId: "g1" });
  return { checkpointer, saver };
}

describe.each(["memory", "sqlite", "file"])("%s: a storage that holds both kinds of threads", (name) => {
  const places: SaverPlace[] = [];
  const open = async () => {
    const place = await localPlace(name);
    places.push(place);
    return bothIn(place);
  };
  afterEach(async () => {
    for (const place of places.splice(0)) await place.cleanup();
  });

  test("lists both, and a saver lists its own", async () => {
    const { checkpointer, saver } = await open();
    expect([...(await checkpointer.listThreads())].sort()).toEqual(["agent", "graph"]);
    expect([...(await saver.listThreads())]).toEqual(["graph"]);
    expect((await saver.listCheckpoints()).map(({ checkpointId }) => checkpointId)).toEqual(["g2", "g1"]);
    const found = await checkpointer.queryByMetadata("tag", "x");
    expect([...found].map(({ threadId }) => threadId).sort()).toEqual(["agent", "graph"]);
  });

  test("shows the history of either, with parents and metadata", async () => {
    const { checkpointer } = await open();
    const history = await checkpointer.listCheckpoints("graph");
    expect(history.map(({ checkpointId, parentId, metadata }) => [checkpointId, parentId, metadata])).toEqual([
      ["g2", "g1", { tag: "x" }],
      ["g1", undefined, { tag: "x" }],
    ]);
    expect(await checkpointer.exists("graph", "g1")).toBe(true);
    expect(await checkpointer.getMetadata("graph")).toEqual({ tag: "x" });
    expect((await checkpointer.stats("graph"))?.checkpoints).toBe(2);
  });

  test("refuses to load and save a graph's thread as an agent's", async () => {
    const { checkpointer, saver } = await open();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => checkpointer.load("graph"),
      () => checkpointer.load("graph", "g1"),
      () => checkpointer.save(said("over it"), "graph"),
      () => checkpointer.save(said("over it"), "graph", { expectedHead: uncheckedHead }),
      () => checkpointer.save(said("over it"), "graph", { expectedHead: "g2" }),
    ];
    for (const call of calls) {
      const error = await failureOf(call);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(String(error)).toContain("belongs to a graph");
    }
    expect((await saver.get({ threadId: "graph" }))?.checkpointId).toBe("g2");
  });

  test("shows what changed between two checkpoints of either, and says which is not there", async () => {
    const { checkpointer, saver } = await open();
    const messages = ["the graph speaks of badgers, at some length", "and of weasels", new Date(0)];
    const checkpointData = { values: { messages, count: 3 }, versions: { messages: 2 } };
    await saver.put({ threadId: "graph", checkpointId: "g3", parentId: "g2", checkpointData });
    expect(await checkpointer.diff("graph", "g2", "g3")).toEqual({
      messages: { shared: 0, removed: [], added: [] },
      fields: {
        "values.count": { before: undefined, after: 3 },
        versions: { before: undefined, after: { messages: 2 } },
      },
      lists: { "values.messages": { shared: 1, removed: ["and of marmots"], added: ["and of weasels", new Date(0)] } },
    });
    expect(await checkpointer.diff("graph", "g1", "g2")).toMatchObject({ fields: {}, lists: {} });
    expect(await failureOf(() => checkpointer.diff("graph", "g1", "none"))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(() => checkpointer.diff("graph", "none", "g1"))).toMatchObject({ code: "NOT_FOUND" });
    const loaded = await checkpointer.load("agent");
    if (loaded === undefined) throw new Error("no state");
    await checkpointer.save(loaded.withMessage(userMessage("and of stoats")), "agent", { checkpointId: "a2" });
    const { messages: said, lists } = await checkpointer.diff("agent", "a1", "a2");
    expect([said.shared, said.added.length, lists]).toEqual([1, 1, undefined]);
  });

  test("forks either at a checkpoint: a graph's with its ancestors, and with its writes where nothing came later", async () => {
    const { checkpointer, saver } = await open();
    const write = { threadId: "graph", taskId: "t", writes: [["x", 1]] as const };
    const put = { threadId: "graph", checkpointData: { values: { messages: ["a side branch"] } } };
    await saver.putWrites({ ...write, checkpointId: "g2" });
    await saver.put({ ...put, checkpointId: "g1b", parentId: "g1" });
    await saver.put({ ...put, checkpointId: "g3", parentId: "g2" });
    await saver.put({ ...put, checkpointNs: "sub", checkpointId: "g1s" });
    await saver.put({ ...put, checkpointNs: "sub", checkpointId: "g3s" });
    expect(await checkpointer.fork("graph", "fork", { at: "g2" })).toBe("g2");
    const listed = await saver.listCheckpoints({ threadId: "fork" });
    expect(listed.map(({ checkpointNs, checkpointId }) => `${checkpointNs} ${checkpointId}`)).toEqual([
      " g2",
      "sub g1s",
      " g1",
    ]);
    const [original, copy] = [
      await saver.get({ threadId: "graph", checkpointId: "g2" }),
      await saver.get({ threadId: "fork" }),
    ];
    expect(original?.pendingWrites).toHaveLength(1);
    expect(copy).toEqual({ ...original, threadId: "fork", createdAt: copy?.createdAt, pendingWrites: [] });
    expect((await saver.get({ threadId: "fork", checkpointId: "g1" }))?.pendingWrites).toHaveLength(1);
    expect(await saver.get({ threadId: "fork", checkpointId: "g3" })).toBeUndefined();
    expect(await checkpointer.lineage("fork")).toEqual([{ threadId: "graph", checkpointId: "g2" }]);
    expect([...(await saver.listThreads())].sort()).toEqual(["fork", "graph"]);
    await saver.putWrites({ ...write, checkpointId: "g3" });
    await checkpointer.fork("graph", "fork-of-the-last");
    expect((await saver.get({ threadId: "fork-of-the-last" }))?.pendingWrites).toHaveLength(1);
    await saver.put({ ...put, threadId: "fork", checkpointId: "g9", parentId: "g2" });
    expect((await saver.get({ threadId: "graph" }))?.checkpointId).toBe("g3");
    expect(await checkpointer.fork("agent", "agent-fork")).toBeTypeOf("string");
    expect((await checkpointer.load("agent-fork"))?.messages).toHaveLength(1);
  });

  test("refuses a fork onto a thread that is there, of a checkpoint that is not, and of a subgraph's alone", async () => {
    const { checkpointer, saver } = await open();
    await saver.put({ threadId: "graph", checkpointNs: "sub", checkpointId: "s1", checkpointData: {} });
    expect(await failureOf(() => checkpointer.fork("graph", "agent"))).toMatchObject({ code: "CONFLICT" });
    expect(await failureOf(() => checkpointer.fork("graph", "new", "none"))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(() => checkpointer.fork("graph", "new", "/sub/s1"))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(await saver.get({ threadId: "new" })).toBeUndefined();
    expect(await checkpointer.fork("graph", "new")).toBe("g2");
  });

  test("deletes one checkpoint of a graph; its children keep what they were built on", async () => {
    const { checkpointer, saver } = await open();
    const before = await saver.get({ threadId: "graph" });
    expect(await checkpointer.delete("graph", "none")).toBe(false);
    expect(await checkpointer.delete("graph", "g1")).toBe(true);
    expect((await checkpointer.listCheckpoints("graph")).map(({ checkpointId }) => checkpointId)).toEqual(["g2"]);
    expect(await saver.get({ threadId: "graph" })).toEqual(before);
    expect((await checkpointer.load("agent"))?.messages).toHaveLength(1);
  });

  test("an agent refuses to run on a graph's thread", async () => {
    const { checkpointer, saver } = await open();
    const agent = new Agent({ model: scriptedModel([{ text: "never said" }]), checkpointer });
    const error: unknown = await agent.run("hello", { threadId: "graph" }).then(
      () => "it ran",
      (failure: unknown) => failure,
    );
    expect(String(error)).toContain("belongs to a graph");
    expect((await saver.get({ threadId: "graph" }))?.checkpointId).toBe("g2");
  });

  test("refuses to touch an agent's thread through a saver", async () => {
    const { checkpointer, saver } = await open();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => saver.put({ threadId: "agent", checkpointId: "g1", checkpointData: {} }),
      () => saver.putWrites({ threadId: "agent", checkpointId: "g1", taskId: "t", writes: [["x", 1]] }),
      () => saver.get({ threadId: "agent", checkpointId: "a1" }),
      () => saver.prune({ threadId: "agent", keepLast: 1 }),
      () => saver.copyThread("agent", "copy"),
      () => saver.deleteThread("agent"),
    ];
    for (const call of calls) {
      const error = await failureOf(call);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(String(error)).toContain("belongs to an agent");
    }
    expect((await checkpointer.load("agent"))?.messages).toHaveLength(1);
  });

  test("finds words in both; a write's belong to the checkpoint that follows", async () => {
    const { checkpointer } = await open();
    const hits = async (query: string) =>
      [...(await checkpointer.search(query))].map(({ threadId, checkpointId }) => `${threadId} ${checkpointId}`).sort();
    expect(await hits("marmots")).toEqual(["agent a1", "graph g1"]);
    expect(await hits("badgers length")).toEqual(["graph g1"]);
    expect(await hits("badgers again")).toEqual(["graph g2"]);
  });

  test("vacuums either by its kind, and counts first when it is asked to", async () => {
    const { checkpointer, saver } = await open();
    expect(await checkpointer.vacuum({ keepLast: 1, dryRun: true })).toMatchObject({ checkpoints: 1, skipped: 0 });
    expect(await saver.listCheckpoints({ threadId: "graph" })).toHaveLength(2);
    expect(await checkpointer.vacuum({ keepLast: 1 })).toMatchObject({ checkpoints: 1, threads: 0 });
    const [newest, ...others] = await saver.listCheckpoints({ threadId: "graph" });
    expect([newest?.checkpointId, others.length]).toEqual(["g2", 0]);
    expect((await newest?.load())?.checkpointData).toHaveProperty("values.messages.length", 2);
    expect((await checkpointer.load("agent"))?.messages).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await checkpointer.vacuum({ olderThanDays: 0 })).toMatchObject({ threads: 2 });
    expect([...(await checkpointer.listThreads())]).toEqual([]);
  });

  test("copies and deletes either", async () => {
    const { checkpointer, saver } = await open();
    expect(await checkpointer.copyThread("graph", "copy")).toBe(true);
    expect((await saver.get({ threadId: "copy", checkpointId: "g1" }))?.pendingWrites).toHaveLength(1);
    expect(await checkpointer.delete("graph")).toBe(true);
    expect(await saver.get({ threadId: "graph" })).toBeUndefined();
    expect((await saver.get({ threadId: "copy" }))?.checkpointId).toBe("g2");
  });

  test("a lease that an agent's process holds keeps a saver out, and its end lets it in", async () => {
    const { checkpointer, saver } = await open();
    const write = { threadId: "graph", checkpointId: "g2", taskId: "t", writes: [["x", 1]] as const };
    await checkpointer.withLease("graph", async () => {
      expect(await failureOf(() => saverOf(checkpointer).putWrites(write))).toMatchObject({ code: "CONFLICT" });
    });
    await saver.putWrites(write);
    expect((await saver.get({ threadId: "graph" }))?.pendingWrites).toHaveLength(1);
  });
});
