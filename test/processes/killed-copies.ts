import { isDeepStrictEqual } from "node:util";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { type CheckpointSaver, saverOf } from "../../src/saver/checkpoint-saver.ts";
import { growThread } from "../../src/testing/checkpointer-cases/conversations.ts";
import { everythingIn } from "../cli/everything.ts";
import type { ProgramProcess, Programs } from "./programs.ts";
import { openShared } from "./shared-storage.ts";

export interface CopyEnds {
  readonly from: string;
  readonly to: string;
}

export interface KilledCopies extends CopyEnds {
  readonly when: "before" | "during";
  readonly args: readonly string[];
  /** The numbers of the driver calls that are killed; without it, all of them. */
  readonly at?: readonly number[];
}

const THREADS = ["long", "fork", "graph"];

/**
 * Copies by a process that the system kills at one driver call after another.
 * Each time the command is run again by a process that lives: then the target
 * has all that the source has, and no write id twice. Returns how many were killed.
 */
export async function killCopies(programs: Programs, { from, to, when, args, at }: KilledCopies): Promise<number> {
  const [source, target] = [await openShared(from), await openShared(to)];
  const start = (): ProgramProcess => programs.start("copying-program", [from, to]);
  // The next one starts up while one is at work; all that is run again is run by one process.
  const [living, waiting] = [start(), [start()]];
  try {
    await target.exists("-");
    await fill(source);
    for (let kills = 0; ; kills++) {
      const call = at === undefined ? kills + 1 : at[kills];
      if (call === undefined) return kills;
      const current = waiting.shift() as ProgramProcess;
      waiting.push(start());
      const isKilled = !(await copied(current, { at: call, when, args }));
      if (!isKilled) {
        await end(current);
        if (at === undefined) return kills;
        throw new Error(`there is no driver call ${call} to be killed at`);
      }
      if (!(await copied(living, { at: 0, when, args }))) throw new Error("a process that should live has ended");
      await assertCopied(source, target, `killed ${when} call ${call}`);
      for (const threadId of THREADS) await target.delete(threadId);
      // A thread that was moved takes no more part in anything.
      if (args.includes("--cut-over")) await refill(source);
    }
  } finally {
    for (const process of [living, ...waiting]) await end(process);
    await source.close();
    await target.close();
  }
}

interface Order extends Pick<KilledCopies, "when" | "args"> {
  readonly at: number;
}

/** Has a process copy; false where it was killed at that. */
async function copied(process: ProgramProcess, order: Order): Promise<boolean> {
  await process.hasSaid(1);
  const said = process.said.length;
  process.tell(JSON.stringify(order));
  await process.hasSaid(said + 1);
  const last = process.said[said] as { readonly code: number } | undefined;
  if (last === undefined && (await process.ended()).signal === "SIGKILL") return false;
  if (last?.code !== 0) throw new Error(`the copy ended with ${JSON.stringify(last)}`);
  return true;
}

async function end(process: ProgramProcess): Promise<void> {
  process.signal("SIGKILL");
  await process.ended();
}

async function refill(source: Checkpointer): Promise<void> {
  for (const threadId of THREADS) await source.delete(threadId);
  await fill(source);
}

/** A thread with gaps where checkpoints were deleted, one of them the newest; its fork, which is whole; and a graph's, pruned. */
async function fill(source: Checkpointer): Promise<void> {
  const { ids } = await growThread(source, "long", 7);
  await source.delete("long", ids[2] ?? "");
  await source.delete("long", ids.at(-1) ?? "");
  await source.fork("long", "fork", ids[4] ?? "");
  await fillGraph(saverOf(source));
}

const GRAPH_PLACES = ["g2", "g3"].map((checkpointId) => ({ threadId: "graph", checkpointId }));

async function fillGraph(saver: CheckpointSaver): Promise<void> {
  const messages: string[] = [];
  for (const [at, checkpointId] of ["g1", "g2", "g3"].entries()) {
    const parent = at === 0 ? {} : { parentId: `g${at}` };
    messages.push(`of badgers, ${at}`);
    const checkpointData = { values: { messages: [...messages] } };
    await saver.put({ threadId: "graph", checkpointId, metadata: { tag: "x" }, checkpointData, ...parent });
    await saver.putWrites({ threadId: "graph", checkpointId, taskId: "t", writes: [["messages", ["again"]]] });
  }
  // So that its positions are others in a copy.
  await saver.prune({ threadId: "graph", keepLast: 2 });
}

/** All that is in a store: the graph's thread as a graph reads it, the others as agents do. */
async function allOf(store: Checkpointer): Promise<unknown> {
  const saver = saverOf(store);
  const graph: unknown[] = [(await store.verify("graph"))?.faults];
  for (const place of GRAPH_PLACES) graph.push(await saver.get(place));
  return { threads: await everythingIn(store, (threadId) => threadId !== "graph"), graph };
}

async function assertCopied(source: Checkpointer, target: Checkpointer, what: string): Promise<void> {
  const [expected, found] = [await allOf(source), await allOf(target)];
  if (!isDeepStrictEqual(found, expected)) {
    throw new Error(`${what}: the target is not what the source is: ${JSON.stringify(found).slice(0, 2000)}`);
  }
  for (const threadId of THREADS) {
    const chain = await contextOf(target)?.log.readRecords(threadId, { limit: 1000 });
    const writeIds = chain?.records.map(({ writeId }) => writeId) ?? [];
    if (writeIds.length === 0 || new Set(writeIds).size !== writeIds.length)
      throw new Error(`${what}: ${threadId} is not there, or a write id of it is there twice`);
  }
}
