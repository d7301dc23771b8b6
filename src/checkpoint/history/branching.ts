import { assertCheckpointId, assertThreadId, newId, newIdFor, withHint } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import type { ToolCall } from "../../state/message.ts";
import { forAnotherThread, type OpenCallsPolicy, openCallsIn, withStanding } from "../../state/tool-calls.ts";
import type { CheckpointContext } from "../context.ts";
import { metadataOf } from "../find/summary.ts";
import { leaseConflict, movedFault } from "../lease/lease-rules.ts";
import type { LogChain, LogRecord, ThreadTail } from "../log/thread-log.ts";
import { assertCopyMayStay, type WrittenFork } from "../people/erasure-mark.ts";
import { headOf, newMessagesOf, rebuild, recordsOf } from "../record/chain.ts";
import { codecOf } from "../record/codec.ts";
import { fits, mayFit, type PlannedFrom, planBase, planBody, wordsToAppend } from "../record/plan-record.ts";
import { type ForkPoint, isGraphs, openHeader, openRecord, withChecksum } from "../record/record.ts";
import { straySignals, waitingAt } from "../signals/mailbox.ts";
import { stateAt } from "../thread/loading.ts";
import { saveState } from "../thread/saving.ts";
import { erasuresAt, planMark, type Tail, Thread, tailBehind, tailOf } from "../thread/thread.ts";
import { type Edit, editThread } from "./editing.ts";

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
  const { saver } = codecOf(openHeader(found).thread);
  if (saver !== undefined) {
    const { forkGraph } = await saver();
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
  // Of the new thread: clones of one machine draw alike, and may fork the call to several.
  const newKey = (call: ToolCall): string => newIdFor(Buffer.from(JSON.stringify([target, call.id])));
  const { fields } = forAnotherThread(AgentState.fromFields(whole), openCalls, { now: context.now(), newKey });
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
  // One that was sent to the source since its tail was read goes with the copy's next save.
  if (waitingAt(tail).length > 0) await leaveSignalsBehind(new Thread(context, target, "copyThread"), generation);
  // A graph has no tool calls: the pending writes of its tasks wait in the copy as in the source.
  if (openCalls === "settle" && !isGraphs(tail.thread)) await settleCopy(context, target, generation);
  return true;
}

/** What was sent to the source is taken in there. The copy never acts on it, also where this is never reached. */
async function leaveSignalsBehind(thread: Thread, generation: string): Promise<void> {
  await editThread(thread, async (tail): Promise<Edit<void>> => {
    const hasStray = tail?.generation === generation && straySignals(tail).length > 0;
    return { result: undefined, ...(hasStray && { plan: { edits: {}, restsOn: [] } }) };
  });
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

/**
 * Marks a thread as moved, from exactly this tail on. Later saves, a graph's
 * checkpoints and leases are refused and told where it is. Returns false where
 * another process wrote meanwhile: what was copied is not all of it then.
 */
export async function markMoved(
  context: CheckpointContext,
  threadId: string,
  found: ThreadTail,
  to: string,
): Promise<boolean> {
  const thread = new Thread(context, threadId, "copy");
  const tail = tailOf(found);
  const facts = { ...tail.thread, moved: { to, at: context.now() } };
  return (await thread.appendOnce(planMark(thread, "edit", tail, facts))) !== undefined;
}

export const targetExists = (context: CheckpointContext, target: string): StateError =>
  new StateError(
    "CONFLICT",
    `${context.log.name}: thread ${JSON.stringify(target)} exists already. Choose another id or delete it first; nothing was written`,
    { backend: context.log.name, threadId: target, expected: null, written: "no" },
  );

/**
 * Builds `target` from the records of another thread's checkpoint, oldest first,
 * for a state that does not fit into one record. All but the last are steps:
 * until the last one is written the thread has no checkpoint, so it appears whole
 * or not at all. The next attempt removes what an interrupted one left behind.
 */
export async function copyChain(
  context: CheckpointContext,
  target: string,
  records: readonly LogRecord[],
  forkedFrom: ForkPoint,
  ttlMs: number | undefined,
  change: ChangedState | undefined,
): Promise<{ readonly checkpointId: string; readonly generation: string }> {
  const checkpointId = newId();
  const thread = new Thread(context, target, "fork");
  const generation = newId();
  let tail: Tail | undefined;
  let first = 1;
  const sources = change === undefined ? records : [...records, change];
  for (const [index, source] of sources.entries()) {
    const named = index === sources.length - 1 ? checkpointId : undefined;
    const written = await thread.append(tail, (behind, isRetry) => {
      if (isRetry && !(index === 0 && isInterrupted(behind))) return undefined;
      if (isRetry) first = (behind?.seq ?? 0) + 1;
      const at = { seq: (behind?.seq ?? 0) + 1, base: first, forkedFrom, named };
      const record = "after" in source ? changed(context, records, source, at) : copied(context, source, at);
      const dropBelow = index === 0 && behind !== undefined ? { dropBelow: first } : {};
      return { append: { record, ...dropBelow, ...(ttlMs !== undefined && { ttlMs }) }, behind, generation };
    });
    if (written === undefined) throw targetExists(context, target);
    tail = tailBehind(written.request.expected.generation, written.request.record);
  }
  return { checkpointId, generation: tail?.generation ?? generation };
}

/** What an earlier attempt left behind: steps, and no checkpoint. */
const isInterrupted = (tail: Tail | undefined): boolean =>
  tail !== undefined && tail.head === 0 && !tail.isMark && tail.checkpointId === undefined && !isGraphs(tail.thread);

/** The new thread's state, if it differs from that of the records. */
export interface ChangedState {
  readonly before: PlannedFrom;
  readonly after: StateFields;
}

interface Place {
  readonly seq: number;
  readonly base: number;
  readonly forkedFrom: ForkPoint;
  /** The id of the checkpoint; `undefined` for a step. */
  readonly named: string | undefined;
}

/** One more record, which turns the copied state into the changed one. */
function changed(
  context: CheckpointContext,
  records: readonly LogRecord[],
  { before, after }: ChangedState,
  { seq, base, forkedFrom, named }: Place,
): LogRecord {
  const last = records.at(-1) as LogRecord;
  const planned = planBody(after, before, context.log.capabilities);
  const isBase = planned.kind === "base";
  return withChecksum({
    seq,
    writeId: newId(),
    base: isBase ? seq : base,
    head: named === undefined ? 0 : seq,
    checkpointId: named,
    metadata: named === undefined ? undefined : last.metadata,
    body: planned.body,
    words: wordsToAppend(context.log, planned.newMessages),
    fields: {
      kind: planned.kind,
      createdAt: context.now(),
      buildsOn: isBase ? 0 : seq - 1,
      schema: openRecord(last).schema,
      messageCount: after.messages.length,
      chain: planned.chain,
      ...(planned.freshMessages !== undefined && { freshMessages: planned.freshMessages }),
      ...withStanding(after),
      thread: { forkedFrom },
    },
  });
}

function copied(context: CheckpointContext, record: LogRecord, { seq, base, forkedFrom, named }: Place): LogRecord {
  const { format: _, bodyBytes: _bytes, thread: _thread, freshMessages, ...header } = openRecord(record);
  // Everything in the base is new, because nothing comes before it in the new thread.
  const isFirst = seq === base;
  const kept = isFirst || freshMessages === undefined ? {} : { freshMessages };
  const messages = newMessagesOf(record, isFirst);
  return withChecksum({
    ...record,
    seq,
    writeId: newId(),
    base,
    head: named === undefined ? 0 : seq,
    checkpointId: named,
    metadata: named === undefined ? undefined : record.metadata,
    words: wordsToAppend(context.log, messages),
    fields: { ...header, ...kept, createdAt: context.now(), buildsOn: isFirst ? 0 : seq - 1, thread: { forkedFrom } },
  });
}
