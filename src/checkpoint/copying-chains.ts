import { newId } from "../driver/new-id.ts";
import { newMessagesOf } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { wordsToAppend } from "./plan-record.ts";
import { type ForkPoint, openRecord, sealRecord } from "./record.ts";
import { isStep } from "./steps.ts";
import { targetExists } from "./target-exists.ts";
import type { AppendOutcome, LogRecord } from "./thread-log.ts";

/**
 * Makes `target` of the records of another thread's checkpoint, oldest first, for
 * a state that does not fit into one. All but the last are steps: until the last
 * is there the thread has no checkpoint, so it appears whole or not at all. What
 * an attempt that broke off left behind is taken away by the next one.
 */
export async function copyChain(
  context: CheckpointContext,
  target: string,
  records: readonly LogRecord[],
  forkedFrom: ForkPoint,
  ttlMs: number | undefined,
): Promise<string> {
  const checkpointId = newId();
  const place = { operation: "fork", threadId: target };
  let generation = newId();
  let [tail, first] = [0, 1];
  const append = async (record: LogRecord, isLast: boolean): Promise<AppendOutcome> => {
    const copy = copied(context, record, {
      seq: tail + 1,
      base: first,
      forkedFrom,
      named: isLast ? checkpointId : undefined,
    });
    const dropBelow = record === records[0] && tail > 0 ? { dropBelow: first } : {};
    const request = { generation, expected: tail, record: copy, ...dropBelow, ...(ttlMs !== undefined && { ttlMs }) };
    const outcome = await context.call(place, (log) => log.append(target, request));
    return outcome.appended || outcome.occupant?.writeId !== copy.writeId ? outcome : { appended: true };
  };
  for (const [index, record] of records.entries()) {
    const isLast = index === records.length - 1;
    let outcome = await append(record, isLast);
    if (!outcome.appended && index === 0 && outcome.tail?.head === 0 && isStep(outcome.tail)) {
      generation = outcome.generation ?? generation;
      tail = outcome.tail.seq;
      first = tail + 1;
      outcome = await append(record, isLast);
    }
    if (!outcome.appended) throw targetExists(context, target);
    tail++;
  }
  return checkpointId;
}

interface Place {
  readonly seq: number;
  readonly base: number;
  readonly forkedFrom: ForkPoint;
  /** The id of the checkpoint; `undefined` for a step. */
  readonly named: string | undefined;
}

function copied(context: CheckpointContext, record: LogRecord, { seq, base, forkedFrom, named }: Place): LogRecord {
  const { format: _, bodyBytes: _bytes, thread: _thread, freshMessages, ...header } = openRecord(record);
  // The base brings in all that it holds: there is nothing before it in the new thread.
  const isFirst = seq === base;
  const kept = isFirst || freshMessages === undefined ? {} : { freshMessages };
  const messages = newMessagesOf(record, isFirst);
  return sealRecord({
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
