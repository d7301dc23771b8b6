import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { foreignRecord } from "./damage.ts";
import { type LogPlace, locationOf, recordPath, threadDirectoryName } from "./layout.ts";
import { readBeginning, readWholeFile } from "./read-file.ts";
import { withoutBody } from "./record-fields.ts";
import {
  ENTRY_BYTES,
  parseEntry,
  parseRecord,
  type RecordOwner,
  recordsOf,
  type StoredEntry,
  type StoredRecord,
} from "./record-file.ts";

/** `owner` is what is already known of the thread: a record that says otherwise does not belong to it. */
export async function readRecord(place: LogPlace, seq: number, owner?: RecordOwner): Promise<StoredRecord> {
  const location = locationOf(place, seq);
  const stored = parseRecord(await readWholeFile(recordPath(place, seq)), location);
  assertBelongs(place, seq, { ...stored, entry: stored.record }, owner);
  return stored;
}

/** Reads only the beginning of the file if that is enough. */
export async function readEntry(place: LogPlace, seq: number, owner?: RecordOwner): Promise<StoredEntry> {
  const location = locationOf(place, seq);
  const stored = parseEntry(await readBeginning(recordPath(place, seq), ENTRY_BYTES), location);
  if (stored === undefined) {
    const whole = await readRecord(place, seq, owner);
    const upTo = whole.record.seq + whole.more.length;
    return { ...whole, entry: withoutBody(whole.record), upTo, editing: whole.edits !== undefined };
  }
  assertBelongs(place, seq, stored, owner);
  return stored;
}

/** The entries of all records in a file. Most files hold one. */
export async function readEntries(place: LogPlace, seq: number, owner?: RecordOwner): Promise<readonly LogEntry[]> {
  const { entry, upTo } = await readEntry(place, seq, owner);
  return upTo === seq ? [entry] : recordsOf(await readRecord(place, seq, owner)).map(withoutBody);
}

/** An intact file may have been copied or renamed to the wrong place. */
function assertBelongs(
  place: LogPlace,
  seq: number,
  stored: RecordOwner & { readonly entry: LogEntry },
  owner: RecordOwner | undefined,
): void {
  const location = locationOf(place, seq);
  const { threadId, generation, log, entry } = stored;
  const isOfThread =
    owner === undefined ? threadDirectoryName(threadId) === place.threadDirectory : threadId === owner.threadId;
  if (!isOfThread) throw foreignRecord(location, `a record of thread ${JSON.stringify(threadId)}`);
  if (log !== place.log || (owner !== undefined && generation !== owner.generation)) {
    throw foreignRecord(location, "a record of an earlier thread of the same id");
  }
  if (entry.seq !== seq) throw foreignRecord(location, `record ${entry.seq}`);
}
