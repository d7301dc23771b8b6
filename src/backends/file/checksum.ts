import { createHash, type Hash } from "node:crypto";
import type { LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import type { RecordEdits, StoredEntry } from "./record-file.ts";

/** Over everything that listing a history uses, and over whose file it is. */
export function checksumOfEntry({ threadId, generation, log, entry, removed, editing }: StoredEntry): string {
  const parts = ["holdfast file 1", threadId, generation, log, removed, editing, ...entryParts(entry)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Over the whole file, by way of the checksum of its beginning. */
export function checksumOfAll(entryChecksum: unknown, record: LogRecord, edits: RecordEdits | undefined): string {
  const hash = createHash("sha256").update(JSON.stringify(entryChecksum));
  addBody(hash, record.body);
  if (edits !== undefined) {
    hash.update(JSON.stringify([edits.drop, edits.dropBelow, edits.replace.length]));
    for (const other of edits.replace) addBody(hash.update(JSON.stringify(entryParts(other))), other.body);
  }
  return hash.digest("base64url");
}

const entryParts = ({ seq, writeId, base, head, checkpointId, metadata, header }: LogEntry): readonly unknown[] => [
  seq,
  writeId,
  base,
  head,
  checkpointId ?? null,
  metadata ?? null,
  header,
];

/** The length goes first, so that no byte can move from one body to the next unnoticed. */
const addBody = (hash: Hash, body: Uint8Array): Hash => hash.update(`${body.byteLength}\n`).update(body);
