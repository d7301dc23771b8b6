import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { withChecksum } from "../../checkpoint/record/record.ts";
import { recordAt } from "./sample-records.ts";

/**
 * A record that says something, whole as a checkpoint is: a store that is in use
 * indexes it by itself, before the case comes to it, and finds the same words.
 */
export function recordSaying(seq: number, words: string, fields: Partial<LogRecord> = {}): LogRecord {
  const { header: _, ...parts } = { ...recordAt(seq), ...fields, words };
  const body = Buffer.from(JSON.stringify({ base: { messages: [{ role: "user", content: words }] } }));
  const chain = { records: 0, bytes: 0, liveBytes: 0, baseBytes: 0 };
  const base = { kind: "base" as const, createdAt: 0, buildsOn: 0, schema: 0, messageCount: 1, chain };
  return withChecksum({ ...parts, body, fields: base });
}

/** What the owner of the bodies tells a driver that asks for the words of a record. */
export function wordsOf({ body }: LogRecord): string | undefined {
  const text = Buffer.from(body).toString("utf8");
  if (!text.startsWith('{"base"')) return undefined;
  const { base } = JSON.parse(text) as { readonly base: { readonly messages: readonly { content: string }[] } };
  return base.messages[0]?.content;
}
