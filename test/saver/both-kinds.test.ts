import { afterEach, describe, expect, test } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Agent, uncheckedHead } from "../../src/index.ts";
import { type CheckpointSaver, saverOf } from "../../src/saver/checkpoint-saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/index.ts";
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

  test("refuses to load, save, diff and fork a graph's thread as an agent's", async () => {
    const { checkpointer, saver } = await open();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => checkpointer.load("graph"),
      () => checkpointer.load("graph", "g1"),
      () => checkpointer.save(said("over it"), "graph"),
      () => checkpointer.save(said("over it"), "graph", { expectedHead: uncheckedHead }),
      () => checkpointer.save(said("over it"), "graph", { expectedHead: "g2" }),
      () => checkpointer.diff("graph", "g1", "g2"),
      () => checkpointer.fork("graph", "fork"),
      () => checkpointer.delete("graph", "g1"),
    ];
    for (const call of calls) {
      const error = await failureOf(call);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(String(error)).toContain("belongs to a graph");
    }
    expect((await saver.get({ threadId: "graph" }))?.checkpointId).toBe("g2");
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
