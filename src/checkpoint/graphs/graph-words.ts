import { decodeBody, wordsOf as wordsOfBody } from "../../saver/thread/graph-record.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "../record/chain.ts";
import { wordsOf } from "../record/plan-record.ts";
import { assertChecksum, isGraphs, type ThreadFacts } from "../record/record.ts";

/** The words that a record brought into its thread, be it an agent's or a graph's. */
export function wordsOfRecord(record: LogRecord, thread: ThreadFacts | undefined): string | undefined {
  if (!isGraphs(thread)) return wordsOf(newMessagesOf(record));
  assertChecksum(record);
  return wordsOfBody(decodeBody(record.body, record.seq));
}
