import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { type MailFacts, openRecord, type TakenSignal, type ThreadFacts, withChecksum } from "../record/record.ts";
import type { Tail, Thread } from "../thread/thread.ts";

/**
 * A thread's mailbox. A signal is a record behind the newest checkpoint, and it
 * stays behind it: a save that takes it in drops it, and one that does not brings
 * it along to the end of the log. So what waits is always read with the state, no
 * vacuum and no base ever comes between, and nothing has to be looked for. The
 * facts of the thread say which signals wait and which ids were taken in lately,
 * so that senders need not read any of it.
 */

/** Bounds of what waits in one thread. */
export const MOST_WAITING = 64;
export const MOST_WAITING_BYTES: number = 1024 * 1024;

/**
 * How long ids that were taken in are remembered, by the storage's clock, if it has one; of each thread only the
 * newest.
 */
export const REMEMBERED_MS: number = 24 * 60 * 60 * 1000;
export const MOST_REMEMBERED = 32;

/** What stands for an id in the facts of a thread. */
const hashOfId = (id: string): string =>
  nodeCrypto().createHash("sha256").update(id, "utf8").digest("base64url").slice(0, 12);

type Known = Pick<Tail, "generation" | "thread">;

/** The mailbox of this very thread: in a copy of the thread, nothing of it counts. */
const mailOf = (known: Known | undefined): MailFacts | undefined =>
  known?.thread?.mail?.generation === known?.generation ? known?.thread?.mail : undefined;

export const waitingAt = (known: Known | undefined): NonNullable<MailFacts["waiting"]> => mailOf(known)?.waiting ?? [];

const takenAt = (known: Known | undefined): readonly TakenSignal[] => mailOf(known)?.taken ?? [];

export const hasTaken = (known: Known | undefined): boolean => takenAt(known).length > 0;

/** Whether a signal of this id waits already, or was taken in. */
export function isKnownSignal(known: Known, id: string): boolean {
  const hash = hashOfId(id);
  return waitingAt(known).some(([, , waiting]) => waiting === hash) || takenAt(known).some(([taken]) => taken === hash);
}

/** Whether a signal waits that is none of these. */
export const waitsBeside = (known: Known | undefined, ids: readonly string[]): boolean => {
  const waiting = waitingAt(known);
  if (waiting.length === 0) return false;
  const hashes = new Set(ids.map(hashOfId));
  return waiting.some(([, , hash]) => !hashes.has(hash));
};

/** Positions of signals that came here with the records of a thread that this one is a copy of. */
export const straySignals = (known: Known): readonly number[] =>
  mailOf(known) === undefined ? (known.thread?.mail?.waiting ?? []).map(([seq]) => seq) : [];

/** The facts with one more signal at its end. */
export function mailWith(known: Known, seq: number, bytes: number, id: string, now: number): MailFacts {
  const taken = takenAt(known);
  return {
    generation: known.generation,
    waiting: [...waitingAt(known), [seq, bytes, hashOfId(id), now]],
    ...(taken.length > 0 && { taken }),
  };
}

/** What a save does to the mailbox of the thread that it goes to. */
export interface MailChange {
  readonly facts: MailFacts | undefined;
  /** Every signal that lies behind the last checkpoint: those taken in, those brought along, and those of another thread. */
  readonly drop: readonly number[];
  /** Records that go behind the new checkpoint, oldest first. Their facts are still to be filled in. */
  readonly along: readonly LogRecord[];
}

/** `known`: the tail that the save goes behind; `records`: its waiting signals, where any is not taken in. */
export function mailAfter(
  known: Known | undefined,
  generation: string,
  consumed: readonly string[],
  records: readonly LogRecord[],
  { seq, now }: { readonly seq: number; readonly now: number },
): MailChange {
  const drop = (known?.thread?.mail?.waiting ?? []).map(([at]) => at);
  if (known?.thread?.mail === undefined && consumed.length === 0) return { facts: undefined, drop, along: [] };
  const hashes = consumed.map(hashOfId);
  const isConsumed = new Set(hashes);
  const waiting = waitingAt(known)
    .filter(([, , hash]) => !isConsumed.has(hash))
    .map(([at, ...rest], index) => ({ at, moved: [seq + 1 + index, ...rest] as const }));
  const along = waiting.flatMap(({ at }) => records.find((record) => record.seq === at) ?? []);
  const taken = [
    ...takenAt(known).filter(([hash, at]) => now - at < REMEMBERED_MS && !isConsumed.has(hash)),
    ...hashes.map((hash): TakenSignal => [hash, now]),
  ].slice(-MOST_REMEMBERED);
  if (waiting.length + taken.length === 0) return { facts: undefined, drop, along };
  const facts = {
    generation,
    ...(waiting.length > 0 && { waiting: waiting.map(({ moved }) => moved) }),
    ...(taken.length > 0 && { taken }),
  };
  return { facts, drop, along };
}

/** The facts of a thread, with this mailbox or none. */
export function withMail(thread: ThreadFacts | undefined, mail: MailFacts | undefined): ThreadFacts | undefined {
  if (mail === undefined && thread?.mail === undefined) return thread;
  const { mail: _, ...others } = thread ?? {};
  const all = mail === undefined ? others : { ...others, mail };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** Signals that a save brings along, behind its checkpoint. */
export const broughtAlong = (
  along: readonly LogRecord[],
  checkpoint: LogRecord,
  thread: ThreadFacts | undefined,
): readonly LogRecord[] =>
  along.map((record, index) => {
    const { format: _, bodyBytes: _bytes, thread: __, ...fields } = openRecord(record);
    const { seq, base } = checkpoint;
    return withChecksum({
      ...record,
      seq: seq + 1 + index,
      writeId: newId(),
      base,
      head: seq,
      fields: { ...fields, ...(thread !== undefined && { thread }) },
    });
  });

/**
 * The records of the signals that wait behind this tail. Between them lie marks and nothing else, so no state is read.
 * Fewer where the thread has moved on: an append behind this tail is refused then.
 */
export async function waitingRecords(thread: Thread, tail: Tail | undefined): Promise<readonly LogRecord[]> {
  const wanted = new Set(waitingAt(tail).map(([seq]) => seq));
  const lowest = Math.min(...wanted);
  const found: LogRecord[] = [];
  for (let before = (tail?.seq ?? 0) + 1; before > lowest; ) {
    const page = await thread.page(before, before - lowest);
    const first = page?.records[0]?.seq;
    if (page === undefined || first === undefined || page.generation !== tail?.generation) break;
    found.push(...page.records.filter(({ seq }) => wanted.has(seq)).toReversed());
    before = first;
    const isHere = page.tail.seq === tail.seq && page.tail.writeId === tail.writeId;
    if (before <= lowest && isHere && found.length < wanted.size) throw missing(thread);
  }
  return found.toReversed();
}

const missing = ({ id: threadId }: Thread): StateError =>
  new StateError("CORRUPT", `thread ${JSON.stringify(threadId)} lacks signals that its newest record names`, {
    threadId,
  });
