import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";

/**
 * <prefix>t:{<id>}          hash   one thread. One key, so that it expires, is evicted and is deleted as a whole
 *   thread                    "<format> <tail> <base> <head> <first> <generation>\n<write id>": the newest position,
 *                             where its state begins, the head, the oldest position; the write id of the newest
 *                             record. Writers compete for this field
 *   e:<seq>                   a record without its body (below)
 *   b:<seq>                   its body, as bytes
 *   c:<name>                  the newest position that carries it, as its checkpoint id or as a further name
 *   n:<seq>\n<name>           the previous position with the same name, if there is one
 *
 * <prefix>{index}:ids       sorted set   the id of every thread, all with one score: walked in the order of their bytes
 * <prefix>{index}:new       sorted set   in a cluster: ids that were announced lately, by time (ms)
 *
 * <id> is percent-encoded: it holds no brace and no colon, so two ids, or two prefixes, never share a key, and the
 * braces are the only hash tag: a cluster keeps what is in them in one slot.
 *
 * e:<seq>  "<base> <head> <length of header>[ <number of further names>]\n<checkpoint id or nothing>\n<write id, or
 *          nothing when it is the checkpoint id>\n[<name>\n …]<header><metadata>". Ids hold no line breaks.
 *
 * The index. Every existing thread is in it. An id in it may have no thread any more (it expired); it is then skipped, and
 * removed by the next listing. On one server, the script that creates a thread enters its id, and the script that removes
 * an id checks that there is no thread. In a cluster the two are in different slots, and no script sees both:
 *
 *   a creator   1. announces: enters the id, and its time in :new     2. creates, which the script refuses if the
 *                  announcement is older than CREATE_WITHIN_MS (then it announces again)
 *   a cleaner   1. reads the index's time     2. finds no thread     3. removes the id, unless it was announced later
 *                  than ANNOUNCED_BEFORE_MS before 1., or 1. was longer ago than CLEAN_WITHIN_MS
 *
 * So an announcement that 3. overlooks can no longer create by the time of 2., and one that it must not overlook is
 * still in :new, where it is kept for KEEP_ANNOUNCED_MS. That holds while the clocks of two nodes differ by less
 * than 45 seconds. If one is 15 seconds ahead of the index's, creating a thread there fails with an error that says so.
 *
 * The index is one key, and a server may evict it while threads live. The next thread would begin a new index, which
 * lacks the others. So the score that all members share is a mark: 0 if the index is known to have every thread, else
 * the time at which it was begun. A listing that finds another mark than 0, or no index, scans the keys (SCAN), enters
 * what is missing, and sets the mark to 0, unless the index was evicted meanwhile.
 */
export const FORMAT = 1;

/** The mark of an index that has every thread. */
export const COMPLETE = "0";

export const CREATE_WITHIN_MS = 15_000;
export const ANNOUNCED_BEFORE_MS = 60_000;
export const CLEAN_WITHIN_MS = 60_000;
export const KEEP_ANNOUNCED_MS = 600_000;

export interface KeyNames {
  readonly thread: (threadId: string) => string;
  /** The SCAN pattern for the keys of threads. */
  readonly threadPattern: string;
  /** The thread of a key, or `undefined` if the key does not belong to a thread. */
  readonly threadIdOf: (key: string) => string | undefined;
  readonly ids: string;
  readonly announced: string;
}

/** Braces would decide which node of a cluster a key belongs to. */
export function assertPrefix(prefix: string): void {
  if (prefix.isWellFormed() && !/[{}\u0000-\u0020\u007f]/.test(prefix) && Buffer.byteLength(prefix) <= 256) return;
  const rule = "at most 256 bytes without braces, spaces and control characters";
  throw new StateError("INVALID_ARGUMENT", `redis: prefix must be ${rule}, for example "holdfast:"`);
}

export function keyNames(prefix: string): KeyNames {
  assertPrefix(prefix);
  return {
    thread: (threadId) => `${prefix}t:{${encodeURIComponent(threadId)}}`,
    threadPattern: `${prefix.replaceAll(/[\\*?[\]]/g, "\\$&")}t:{*}`,
    threadIdOf: (key) => {
      const encoded = key.startsWith(`${prefix}t:{`) && key.endsWith("}") ? key.slice(prefix.length + 3, -1) : "";
      // A key that does not decode and encode to itself is not ours.
      const threadId = encoded === "" ? undefined : decoded(encoded);
      return threadId !== undefined && encodeURIComponent(threadId) === encoded ? threadId : undefined;
    },
    ids: `${prefix}{index}:ids`,
    announced: `${prefix}{index}:new`,
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export function encodeEntry(record: LogRecord): string {
  const { base, head, checkpointId = "", names = [], writeId, header, metadata = "" } = record;
  const ownWriteId = writeId === checkpointId ? "" : writeId;
  const count = names.length === 0 ? "" : ` ${names.length}`;
  const others = names.length === 0 ? "" : `${names.join("\n")}\n`;
  return `${base} ${head} ${header.length}${count}\n${checkpointId}\n${ownWriteId}\n${others}${header}${metadata}`;
}

const ENTRY = /^(\d+) (\d+) (\d+)(?: (\d+))?\n([^\n]*)\n([^\n]*)\n/;

export function decodeEntry(seq: number, text: string): LogEntry {
  const match = ENTRY.exec(text);
  if (match === null) throw new StateError("CORRUPT", `the entry of record ${seq} cannot be read`);
  const [start, base, head, length, count = "0", checkpointId = "", writeId = ""] = match;
  const names = text.slice(start.length).split("\n", Number(count));
  const headerStart = names.reduce((end, name) => end + name.length + 1, start.length);
  const headerEnd = headerStart + Number(length);
  return {
    seq,
    base: Number(base),
    head: Number(head),
    checkpointId: checkpointId === "" ? undefined : checkpointId,
    ...(names.length > 0 && { names }),
    writeId: writeId === "" ? checkpointId : writeId,
    header: text.slice(headerStart, headerEnd),
    metadata: headerEnd < text.length ? text.slice(headerEnd) : undefined,
  };
}
