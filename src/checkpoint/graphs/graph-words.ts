import { decodeBody, wordsOf } from "../../saver/thread/graph-record.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { assertChecksum } from "../record/record.ts";

/** The words that a record of a graph brought in. */
export function graphWordsOf(record: LogRecord): string | undefined {
  assertChecksum(record);
  return wordsOf(decodeBody(record.body, record.seq));
}
