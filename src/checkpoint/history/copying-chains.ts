import { newId } from "../../driver/new-id.ts";
import type { StateFields } from "../../state/fields.ts";
import { withStanding } from "../../state/tool-calls.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "../record/chain.ts";
import { type PlannedFrom, planBody, wordsToAppend } from "../record/plan-record.ts";
import { type ForkPoint, openRecord, withChecksum } from "../record/record.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { type Tail, Thread, tailBehind } from "../thread/thread.ts";
import { targetExists } from "./target-exists.ts";

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
