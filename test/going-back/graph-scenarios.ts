import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { type LangGraphSaver, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { failureOf } from "../failure-of.ts";
import type { Scenario, World } from "./world.ts";

const META = { source: "loop" as const, step: 0, parents: {} };

const at = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id !== undefined && { checkpoint_id }) },
});

/** A line of a graph: the id of its newest checkpoint, and its messages. */
interface Line {
  readonly id: string;
  readonly messages: readonly string[];
}

/** One step of a graph, as LangGraph puts it. */
async function step(saver: LangGraphSaver, threadId: string, parent: Line | undefined, text: string): Promise<Line> {
  const checkpoint = emptyCheckpoint();
  const messages = [...(parent?.messages ?? []), text];
  const versions = { messages: messages.length };
  const given = { ...checkpoint, channel_values: { messages }, channel_versions: versions };
  await saver.put(at(threadId, parent?.id), given, META, versions);
  return { id: checkpoint.id, messages };
}

async function newest(saver: LangGraphSaver, threadId: string): Promise<Line> {
  const tuple = await saver.getTuple(at(threadId));
  const messages = tuple?.checkpoint.channel_values["messages"] as readonly string[];
  return { id: tuple?.checkpoint.id ?? "", messages };
}

async function idsOf(saver: LangGraphSaver, threadId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { checkpoint } of saver.list(at(threadId))) ids.push(checkpoint.id);
  return ids;
}

/** To every process the thread is these checkpoints, and without a fault. */
async function expectGraph({ live, other }: World, threadId: string, lines: readonly Line[]): Promise<void> {
  for (const { checkpointer } of [live, await other()]) {
    const saver = toLangGraphSaver(checkpointer);
    expect(await idsOf(saver, threadId)).toEqual(lines.map(({ id }) => id).reverse());
    for (const { id, messages } of lines) {
      const tuple = await saver.getTuple(at(threadId, id));
      expect(tuple?.checkpoint.channel_values["messages"]).toEqual(messages);
    }
    expect((await checkpointer.verify(threadId))?.faults).toEqual([]);
  }
}

/** Two checkpoints that are kept. */
async function begin(saver: LangGraphSaver, threadId: string): Promise<readonly [Line, Line]> {
  const first = await step(saver, threadId, undefined, "kept 1");
  return [first, await step(saver, threadId, first, "kept 2")];
}

export const graphScenarios: readonly Scenario[] = [
  {
    name: "a graph's put on a lost parent is CONFLICT, and so are writes of its tasks; the newest is what is there",
    run: async function* (world, t) {
      const saver = toLangGraphSaver(world.live.checkpointer);
      const kept = await begin(saver, t);
      yield;
      const lost1 = await step(saver, t, kept[1], "lost 1");
      const lost2 = await step(saver, t, lost1, "lost 2");
      await saver.putWrites(at(t, lost2.id), [["messages", "lost"]], "task");
      yield;
      const others = toLangGraphSaver((await world.other()).checkpointer);
      const other1 = await step(others, t, await newest(others, t), "other 1");
      const other2 = await step(others, t, other1, "other 2");
      for (const _ of ["before it read", "after it read"]) {
        for (const parent of [lost2, lost1]) {
          const late = await failureOf(() => step(saver, t, parent, "late"));
          expect([late.code, late.context.written]).toEqual(["CONFLICT", "no"]);
        }
        const writes = await failureOf(() => saver.putWrites(at(t, lost2.id), [["messages", "late"]], "late"));
        expect([writes.code, writes.context.written]).toEqual(["CONFLICT", "no"]);
        expect(await newest(saver, t)).toEqual(other2);
      }
      await expectGraph(world, t, [...kept, other1, other2]);
      const next = await step(saver, t, await newest(saver, t), "on it goes");
      await expectGraph(world, t, [...kept, other1, other2, next]);
    },
  },
  {
    name: "a graph's put on a kept parent is a branch beside what others put, and each has its own values",
    run: async function* (world, t) {
      const saver = toLangGraphSaver(world.live.checkpointer);
      const kept = await begin(saver, t);
      yield;
      await step(saver, t, kept[1], "lost");
      yield;
      const others = toLangGraphSaver((await world.other()).checkpointer);
      const other = await step(others, t, await newest(others, t), "other");
      const mine = await step(saver, t, kept[1], "mine");
      await expectGraph(world, t, [...kept, other, mine]);
    },
  },
  {
    name: "a saver that reads first builds on what is there, and one that starts anew finds nothing of what was lost",
    run: async function* (world, t) {
      const saver = toLangGraphSaver(world.live.checkpointer);
      const kept = await begin(saver, t);
      yield;
      const lost = await step(saver, t, kept[1], "lost");
      yield;
      await world.other();
      expect(await newest(saver, t)).toEqual(kept[1]);
      expect(await saver.getTuple(at(t, lost.id))).toBeUndefined();
      expect(await newest(toLangGraphSaver(world.live.checkpointer), t)).toEqual(kept[1]);
      const next = await step(saver, t, kept[1], "on it goes");
      await expectGraph(world, t, [...kept, next]);
    },
  },
  {
    name: "a graph's thread that was made after the copy can be made by others, and is not continued",
    run: async function* (world, t) {
      const saver = toLangGraphSaver(world.live.checkpointer);
      yield;
      const lost = await step(saver, t, undefined, "lost");
      yield;
      const others = toLangGraphSaver((await world.other()).checkpointer);
      expect((await failureOf(() => step(saver, t, lost, "late"))).code).toBe("CONFLICT");
      expect(await saver.getTuple(at(t))).toBeUndefined();
      const theirs = await step(others, t, undefined, "theirs");
      expect((await failureOf(() => step(saver, t, lost, "late"))).code).toBe("CONFLICT");
      await expectGraph(world, t, [theirs]);
    },
  },
  {
    name: "a prune and a copy of a graph's thread take what is there",
    run: async function* (world, t) {
      const saver = toLangGraphSaver(world.live.checkpointer);
      const kept = await begin(saver, t);
      yield;
      const lost = await step(saver, t, kept[1], "lost");
      yield;
      const others = toLangGraphSaver((await world.other()).checkpointer);
      const other = await step(others, t, await newest(others, t), "other");
      const graphs = saverOf(world.live.checkpointer);
      expect(await graphs.copyThread(t, `${t} copy`)).toBe(true);
      await expectGraph(world, `${t} copy`, [...kept, other]);
      expect((await (await saver.saver()).prune({ threadId: t, keepLast: 1 })).checkpoints).toBe(2);
      await expectGraph(world, t, [other]);
      // The prune has taken the record by which the loss is noticed; what is put is whole all the same.
      const onLost = await step(saver, t, lost, "late").catch(() => undefined);
      await expectGraph(world, t, [other, ...(onLost === undefined ? [] : [onLost])]);
    },
  },
];
