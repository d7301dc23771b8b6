import { STATE_RULES } from "../../state/people/personal-fields.ts";
import { redactBody, redactMetadata } from "../../state/people/redacting.ts";
import type { Redactor } from "../../state/secrets.ts";
import { newMessagesOf } from "../record/chain.ts";
import { wordsToAppend } from "../record/plan-record.ts";
import { openRecord, withChecksum } from "../record/record.ts";
import type { LogRecord, ThreadLog } from "./thread-log.ts";

/** The record as the redactor leaves it: its body, its metadata and the words that are found by a search. */
export function redactedRecord(record: LogRecord, log: ThreadLog, redactor: Redactor): LogRecord {
  const text = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength).toString("utf8");
  const body = redactBody(text, redactor);
  const metadata =
    record.metadata === undefined ? undefined : redactMetadata(record.metadata, STATE_RULES.metadata.rule, redactor);
  if (body === text && metadata === record.metadata) return record;
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const next = withChecksum({ ...record, body: Buffer.from(body, "utf8"), metadata, words: undefined, fields });
  return { ...next, words: wordsToAppend(log, newMessagesOf(next)) };
}
