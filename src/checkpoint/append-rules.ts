import { StateError } from "../errors.ts";
import type { AppendRequest, LogEntry } from "./thread-log.ts";

/** About a hundred years: what a time to live is cut to, so that every storage can add it to its clock. */
export const LONGEST_TTL_MS = 3_155_760_000_000;

/**
 * Refuses an append whose numbers point outside the thread's own history. Every
 * driver asks this before it does anything, and the service asks it of what a
 * client sent: a number that reaches a key must not reach another thread's.
 */
export function assertAppend({ expected, record, replace = [], drop = [], dropBelow, ttlMs }: AppendRequest): void {
  if (!isPosition(expected, 0)) throw outside("expected", expected, "a position, or 0 for no thread");
  if (record.seq !== expected + 1) throw outside("record.seq", record.seq, `expected + 1, which is ${expected + 1}`);
  assertOwnPositions("record", record);
  const earlier = `a position from 1 to ${expected}`;
  const taken = new Set<number>();
  for (const each of replace) {
    if (!isPosition(each.seq, 1, expected)) throw outside("replace[].seq", each.seq, earlier);
    assertOwnPositions("replace[]", each);
    taken.add(each.seq);
  }
  for (const seq of drop) {
    if (!isPosition(seq, 1, expected)) throw outside("drop[]", seq, earlier);
    taken.add(seq);
  }
  if (taken.size < replace.length + drop.length) {
    throw new StateError("INVALID_ARGUMENT", "an append names the same position twice in replace and drop");
  }
  if (dropBelow !== undefined && !isPosition(dropBelow, 1, record.seq)) {
    throw outside("dropBelow", dropBelow, `a position from 1 to ${record.seq}`);
  }
  if (ttlMs !== undefined && !(ttlMs > 0 && ttlMs <= LONGEST_TTL_MS)) {
    throw outside("ttlMs", ttlMs, `more than 0 and at most ${LONGEST_TTL_MS}`);
  }
}

/** A record builds on itself or on what is older, and its head is a checkpoint: itself, or an older one. */
function assertOwnPositions(what: string, { seq, base, head, checkpointId }: LogEntry): void {
  if (!isPosition(base, 1, seq)) throw outside(`${what}.base`, base, `a position from 1 to ${seq}`);
  const newest = checkpointId === undefined ? seq - 1 : seq;
  if (!isPosition(head, 0, newest)) throw outside(`${what}.head`, head, `a position from 0 to ${newest}`);
}

const isPosition = (value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER - 1): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

const outside = (what: string, found: unknown, wanted: string): StateError =>
  new StateError("INVALID_ARGUMENT", `${what} of an append must be ${wanted}; it is ${String(found)}`);
