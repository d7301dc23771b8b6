import { createHash, type Hash } from "node:crypto";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { StoredEntry, StoredRecord } from "./record-file.ts";

/** Covers everything that a listing uses, and the thread that the file belongs to. */
export function checksumOfEntry({ threadId, generation, log, entry, upTo, removed, editing }: StoredEntry): string {
  const parts = ["holdfast file 1", threadId, generation, log, removed, editing, upTo, ...entryParts(entry)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Covers the whole file, through the checksum of its entry. */
export function checksumOfAll(entryChecksum: unknown, { record, more, edits }: FileContent): string {
  const hash = createHash("sha256").update(JSON.stringify(entryChecksum));
  addBody(hash, record.body);
  if (more.length > 0) addRecords(hash.update(JSON.stringify(["more", more.length])), more);
  if (edits !== undefined) {
    hash.update(JSON.stringify([edits.drop, edits.dropBelow, edits.replace.length]));
    addRecords(hash, edits.replace);
  }
  return hash.digest("base64url");
}

type FileContent = Pick<StoredRecord, "record" | "more" | "edits">;

const entryParts = (entry: LogEntry): readonly unknown[] => {
  const { seq, writeId, base, head, checkpointId, names, metadata, header } = entry;
  return [seq, writeId, base, head, checkpointId ?? null, names ?? null, metadata ?? null, header];
};

function addRecords(hash: Hash, records: readonly LogRecord[]): void {
  for (const record of records) addBody(hash.update(JSON.stringify(entryParts(record))), record.body);
}

/** The length comes first, so that no byte can move from one body to the next unnoticed. */
const addBody = (hash: Hash, body: Uint8Array): Hash => hash.update(`${body.byteLength}\n`).update(body);
