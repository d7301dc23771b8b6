import type { AppendOutcome, LogChain, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { decodeEntry } from "./layout.ts";

/** The scripts' replies, as both client libraries return them: arrays of Buffers, with null for nil. */
export type Reply = readonly (Buffer | null)[];

export const asReply = (reply: unknown): Reply | undefined => (Array.isArray(reply) ? (reply as Reply) : undefined);

export const asText = (reply: unknown): string => {
  if (Buffer.isBuffer(reply) || typeof reply === "string") return reply.toString();
  throw new StateError(
    "CORRUPT",
    "the server's answer is of another shape than that of the script it was asked to run",
  );
};

export function entryAt(reply: Reply, at: number): LogEntry {
  const [position, entry] = [reply[at], reply[at + 1]];
  const seq = Number(asText(position));
  if (!Buffer.isBuffer(entry)) throw new StateError("CORRUPT", `record ${seq} is missing`);
  return decodeEntry(seq, entry.toString());
}

export function entriesIn(reply: Reply): LogEntry[] {
  return reply.flatMap((_, at) => (at % 2 === 0 ? [entryAt(reply, at)] : []));
}

/** generation, tail, its entry; then position, entry and body of each record. */
export function chainIn(reply: Reply): LogChain {
  const records: LogRecord[] = [];
  for (let at = 3; at < reply.length; at += 3) {
    records.push({ ...entryAt(reply, at), body: reply[at + 2] ?? new Uint8Array(), words: undefined });
  }
  return { generation: asText(reply[0]), tail: entryAt(reply, 1), records };
}

/** "refused", and the record that is there instead. */
export function refusalIn(reply: Reply, expected: number): AppendOutcome {
  if (reply.length === 1) return { appended: false, tail: undefined, generation: undefined, occupant: undefined };
  const occupant = reply[4];
  return {
    appended: false,
    generation: asText(reply[1]),
    tail: entryAt(reply, 2),
    occupant: Buffer.isBuffer(occupant) ? decodeEntry(expected + 1, occupant.toString()) : undefined,
  };
}
