import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogChain, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { openRecord } from "../../checkpoint/record/record.ts";
import { StateError } from "../../errors.ts";
import { placeElsewhere } from "./relocated.ts";
import { changesOf, digestOf, type OutlinedRecord, type SourceThread } from "./source-thread.ts";

const PAGE = 256;

/**
 * Whether the first `count` records of a thread in this store are those of the
 * source, each proven by its own checksum and compared by hash. Equal records in
 * an equal order are equal states at every checkpoint: a state is made of nothing
 * else.
 */
export async function sameAs(context: CheckpointContext, source: SourceThread, count: number): Promise<boolean> {
  const { threadId, outline } = source;
  let expected = count;
  for (let before = count + 1; ; ) {
    const query = { limit: PAGE, before };
    const chain: LogChain | undefined = await context.call({ operation: "verify", threadId }, (log) =>
      log.readRecords(threadId, query),
    );
    const [oldest] = chain?.records ?? [];
    if (chain === undefined || oldest === undefined) return expected === 0;
    for (const record of chain.records.toReversed()) {
      if (expected === 0 || !isSame(record, outline, expected - 1)) return false;
      expected--;
    }
    before = oldest.seq;
  }
}

function isSame(record: LogRecord, outline: readonly OutlinedRecord[], index: number): boolean {
  const { base, head, seq } = record;
  const { kind, buildsOn } = openRecord(record);
  const wanted = placeElsewhere(outline, index);
  const isThere = seq === wanted.seq && base === wanted.base && head === wanted.head && buildsOn === wanted.buildsOn;
  if (changesOf(record) !== wanted.changes) return false;
  return isThere && kind === outline[index]?.kind && digestOf(record) === outline[index]?.digest;
}

/** Throws unless the thread is in this store as it is in the source, record by record. */
export async function assertSame(context: CheckpointContext, source: SourceThread): Promise<void> {
  const { threadId, outline } = source;
  const place = { operation: "verify", threadId };
  const tail = await context.call(place, (log) => log.tail(threadId));
  if (tail !== undefined && tail.entry.seq >= outline.length && (await sameAs(context, source, outline.length))) return;
  throw new StateError("CORRUPT", "the copy is not equal to the source", { threadId });
}
