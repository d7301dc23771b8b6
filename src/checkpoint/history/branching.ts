import { assertCheckpointId, assertThreadId } from "../../driver/ids.ts";
import { newId } from "../../driver/new-id.ts";
import { withHint } from "../../driver/position-hint.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { forAnotherThread, type OpenCallsPolicy, openCallsIn, withStanding } from "../../state/tool-calls.ts";
import type { CheckpointContext } from "../context.ts";
import { metadataOf } from "../find/summary.ts";
import { leaseConflict, movedFault } from "../lease/lease-rules.ts";
import type { LogChain } from "../log/thread-log.ts";
import { assertCopyMayStay, type WrittenFork } from "../people/erasure-mark.ts";
import { headOf, rebuild, recordsOf } from "../record/chain.ts";
import { fits, mayFit, planBase, wordsToAppend } from "../record/plan-record.ts";
import { type ForkPoint, openHeader, withChecksum } from "../record/record.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { stateAt } from "../thread/loading.ts";
import { saveState } from "../thread/saving.ts";
import { erasuresAt, Thread, tailOf } from "../thread/thread.ts";
import { copyChain } from "./copying-chains.ts";
import { targetExists } from "./target-exists.ts";

/** Starts `target` with the state of `source` at one checkpoint. */
export async function forkThread(
  context: CheckpointContext,
  source: string,
  target: string,
  options: ForkRule,
): Promise<string> {
  const { checkpointId, generation, from } = await writeFork(context, source, target, options);
  await assertCopyMayStay(context, "fork", { threadId: source, ...from }, { threadId: target, generation });
  return checkpointId;
}

interface ForkRule {
  readonly at: string | undefined;
  readonly openCalls: OpenCallsPolicy;
}

/**
 * One base record whatever the history; more only if it does not fit into one.
 * The fork of a graph's thread takes the checkpoint's ancestors along. If the
 * source expires, the fork expires at the same time, as a copy does: what is
 * meant to be gone by then must not live on under another name.
 */
async function writeFork(
  context: CheckpointContext,
  source: string,
  target: string,
  { at, openCalls }: ForkRule,
): Promise<WrittenFork> {
  assertThreadId(source);
  assertThreadId(target);
  if (at !== undefined) assertCheckpointId(at);
  const chain = await readForFork(context, source, at);
  const found = chain?.records.at(-1);
  if (chain === undefined || found === undefined) throw noSource(source, at);
  if (isGraphs(openHeader(found).thread)) {
    const { forkGraph } = await import("../graphs/graph-operations.ts");
    const ttlMs = await timeLeft(context, source, chain.generation);
    const fork = await forkGraph(context, { source, target, at, ttlMs });
    if (fork === undefined) throw noSource(source, at);
    return fork;
  }
  const seq = at === undefined ? headOf(chain) : found.seq;
  if (seq === 0) throw noSource(source, at);
  const from = {
    generation: chain.generation,
    erasures: erasuresAt(tailOf({ generation: chain.generation, entry: chain.tail })),
  };
  const { record, header, fields: whole } = rebuild(chain, seq);
  const { fields } = forAnotherThread(AgentState.fromFields(whole), openCalls, { now: context.now(), newKey: newId });
  const ttlMs = await timeLeft(context, source, chain.generation);
  const forkedFrom = { threadId: source, checkpointId: record.checkpointId ?? "" };
  const planned = mayFit(fields, context.log.capabilities) ? planBase(fields, fields.messages) : undefined;
  if (planned === undefined || !fits(planned, context.log.capabilities)) {
    const settled = fields === whole ? undefined : { before: { fields: whole, chain: header.chain }, after: fields };
    return { ...(await copyChain(context, target, recordsOf(chain, seq), forkedFrom, ttlMs, settled)), from };
  }
  const [writeId, checkpointId] = [newId(), withHint(newId(), 1)];
  const append = {
    record: withChecksum({
      seq: 1,
      writeId,
      base: 1,
      head: 1,
      checkpointId,
      metadata: record.metadata,
      body: planned.body,
      words: wordsToAppend(context.log, planned.newMessages),
      fields: {
        kind: "base" as const,
        createdAt: context.now(),
        buildsOn: 0,
        schema: header.schema,
        messageCount: fields.messages.length,
        chain: planned.chain,
        ...withStanding(fields),
        thread: { forkedFrom },
      },
    }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  const written = await new Thread(context, target, "fork").appendOnce({ append, behind: undefined });
  if (written === undefined) throw targetExists(context, target);
  return { checkpointId, generation: writeId, from };
}

/** How long the source still lives, by the storage's clock; `undefined` if it does not expire. */
async function timeLeft(context: CheckpointContext, source: string, generation: string): Promise<number | undefined> {
  if (!context.log.capabilities.ttl) return undefined;
  const tail = await context.call({ operation: "fork", threadId: source }, (log) => log.tail(source));
  if (tail?.generation !== generation) throw noSource(source, undefined);
  return tail.ttlMs === undefined ? undefined : Math.max(tail.ttlMs, 1);
}

const readForFork = (
  context: CheckpointContext,
  source: string,
  at: string | undefined,
): Promise<LogChain | undefined> =>
  context.call({ operation: "fork", threadId: source }, (log) =>
    at === undefined ? log.readTail(source) : log.readCheckpoint(source, at),
  );

/**
 * Copies the whole history: the same checkpoints under another thread id. Returns
 * false if there is nothing to copy. A thread without a checkpoint, which exists
 * only for a lease, counts as nothing.
 */
export async function copyThread(
  context: CheckpointContext,
  source: string,
  target: string,
  openCalls: OpenCallsPolicy,
): Promise<boolean> {
  assertThreadId(source);
  assertThreadId(target);
  if (source === target) throw targetExists(context, target);
  const thread = new Thread(context, target, "copyThread");
  const generation = newId();
  const tail = await new Thread(context, source, "copyThread").tail();
  if (tail === undefined || tail.head === 0) return false;
  // Its mark would be copied along, and nothing could be saved in the copy.
  const moved = movedFault(tail.thread);
  if (moved !== undefined) throw leaseConflict(context, source, moved);
  const copied = await thread.call((log) => log.copy(source, target, generation));
  if (copied === "no source") return false;
  if (copied === "target exists") {
    // The target may be this very copy: the answer was lost and the call was repeated.
    if ((await thread.tail())?.generation !== generation) throw targetExists(context, target);
  }
  const from = { threadId: source, generation: tail.generation, erasures: erasuresAt(tail) };
  await assertCopyMayStay(context, "copyThread", from, { threadId: target, generation });
  // A graph has no tool calls: the pending writes of its tasks wait in the copy as in the source.
  if (openCalls === "settle" && !isGraphs(tail.thread)) await settleCopy(context, target, generation);
  return true;
}

/** A copy whose open calls cannot be settled is removed again, because another run would make them a second time. */
async function settleCopy(context: CheckpointContext, target: string, generation: string): Promise<void> {
  const thread = new Thread(context, target, "copyThread");
  // The source may have moved on since it was read, so the copy itself is asked whether it has open calls.
  const tail = await thread.call((log) => log.tail(target));
  const isHead = tail !== undefined && tail.entry.head === tail.entry.seq;
  if (isHead && openHeader(tail.entry).standing?.open === undefined) return;
  const chain = await thread.call((log) => log.readTail(target));
  if (chain === undefined || chain.generation !== generation) return;
  try {
    const seq = headOf(chain);
    const { record, fields } = rebuild(chain, seq);
    if (openCallsIn(fields).length === 0) return;
    const state = stateAt(context, target, chain, seq);
    const settled = forAnotherThread(state, "settle", { now: context.now(), newKey: newId });
    await saveState(context, settled, target, { metadata: metadataOf(record) });
  } catch (error) {
    await thread.remove(tailOf({ generation, entry: chain.tail })).catch(() => undefined);
    throw error;
  }
}

/** The fork points behind a thread, nearest first, as far as those threads still exist. */
export async function lineageOf(context: CheckpointContext, threadId: string): Promise<readonly ForkPoint[]> {
  assertThreadId(threadId);
  const points: ForkPoint[] = [];
  const seen = new Set([threadId]);
  let current: string | undefined = threadId;
  while (current !== undefined) {
    const point: ForkPoint | undefined = await forkPointOf(context, current);
    if (point !== undefined) points.push(point);
    current = point === undefined || seen.has(point.threadId) ? undefined : point.threadId;
    if (current !== undefined) seen.add(current);
  }
  return points;
}

async function forkPointOf(context: CheckpointContext, threadId: string): Promise<ForkPoint | undefined> {
  const found = await context.call({ operation: "lineage", threadId }, (log) => log.tail(threadId));
  return found && openHeader(found.entry).thread?.forkedFrom;
}

const noSource = (source: string, at: string | undefined): StateError => {
  const which = at === undefined ? "" : ` at checkpoint ${JSON.stringify(at)}`;
  return new StateError("NOT_FOUND", `thread ${JSON.stringify(source)} is not there to fork from${which}`, {
    threadId: source,
    ...(at !== undefined && { checkpointId: at }),
  });
};
