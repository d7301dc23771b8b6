import { StateError } from "../../errors.ts";
import { HOLDS } from "../../state/people/legal-hold.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { decodeMetadata } from "../record/metadata.ts";
import type { ThreadFacts } from "../record/record.ts";
import { erasuresAt, sayingWhetherWritten, Thread } from "../thread/thread.ts";

/** A thread of the package's own in every storage that people were erased from: how far it was cleaned, and what must wait. */
export const ERASURE_MARK = { threadId: "holdfast:erasures", checkpointId: "applied" } as const;
/** In the mark's metadata: the erasures that hold new threads off, with the times at which that ends. */
export const NEW_THREADS_HELD_OFF = "newThreadsHeldOff";

/** A fork as it was written, and its source as it was read. */
export interface WrittenFork {
  readonly checkpointId: string;
  readonly generation: string;
  readonly from: { readonly generation: string; readonly erasures: number };
}

/**
 * A fork or a copy that is made during an erasure may hold what was erased from its
 * source after it was read, and be written after the erasure's last look. So its maker
 * checks once it is there: at the source, which says whether anything was erased from
 * it since, and at the storage's mark, by which an erasure that is outrun by copies
 * holds them off. Then the copy is removed again.
 */
export async function assertCopyMayStay(
  context: CheckpointContext,
  operation: string,
  source: { readonly threadId: string; readonly generation: string; readonly erasures: number },
  target: { readonly threadId: string; readonly generation: string },
): Promise<void> {
  const place = { operation, threadId: target.threadId };
  try {
    const [tail, isHeldOff] = await Promise.all([
      new Thread(context, source.threadId, operation).tail(),
      areNewThreadsHeldOff(context, place),
    ]);
    const isErasedSince = tail?.generation === source.generation && erasuresAt(tail) !== source.erasures;
    if (!isErasedSince && !isHeldOff) return;
    await removeCopy(context, place, target);
  } catch (error) {
    throw sayingWhetherWritten(error, true, MAY_HOLD);
  }
  throw notMade(context, place);
}

const MAY_HOLD = "The new thread is there, and may hold what is being erased: delete it";

const notMade = ({ log }: CheckpointContext, place: { readonly operation: string; readonly threadId: string }) =>
  new StateError(
    "CONFLICT",
    `${log.name}: a person is being erased, and thread ${JSON.stringify(place.threadId)} may have held what has to go: it was not made. Try again`,
    { backend: log.name, ...place, written: "no" },
  );

/** Threads of the package's own say whom they are about, and hold nothing of them. */
const OWN: ReadonlySet<string> = new Set([ERASURE_MARK.threadId, HOLDS]);

/**
 * The same for a thread that was just made of nothing. Only one that names people can hold what is being erased: the
 * others are spared the look.
 */
export async function assertNewThreadMayStay(
  context: CheckpointContext,
  operation: string,
  threadId: string,
  generation: string,
  records: readonly LogRecord[],
): Promise<void> {
  if (OWN.has(threadId) || !records.some(mayNamePeople)) return;
  const place = { operation, threadId };
  try {
    if (!(await areNewThreadsHeldOff(context, place))) return;
    await removeCopy(context, place, { threadId, generation });
  } catch (error) {
    throw sayingWhetherWritten(error, true, MAY_HOLD);
  }
  throw notMade(context, place);
}

/** A member that names people has a name that ends like this; a text that happens to contain it only costs a look. */
const mayNamePeople = ({ body, metadata }: LogRecord): boolean =>
  metadata?.includes('subject"') === true ||
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('subject"');

/**
 * Another process may have found the copy and written to it: it is removed all the same, because no caller was told
 * that it exists.
 */
async function removeCopy(
  context: CheckpointContext,
  { operation }: { readonly operation: string },
  { threadId, generation }: { readonly threadId: string; readonly generation: string },
): Promise<void> {
  const thread = new Thread(context, threadId, operation);
  for (const races = thread.races(); ; races.lost()) {
    const tail = await thread.tail();
    if (tail?.generation !== generation || (await thread.remove(tail)) !== "moved") return;
  }
}

const areNewThreadsHeldOff = async (
  context: CheckpointContext,
  place: { readonly operation: string; readonly threadId: string },
): Promise<boolean> => isHeldOff(context, await newThreadsHeldOff(context, place));

/** The erasures that hold new threads off, from the storage's mark. */
export async function newThreadsHeldOff(
  context: CheckpointContext,
  place: { readonly operation: string; readonly threadId: string },
): Promise<HeldOff | undefined> {
  const { threadId, checkpointId } = ERASURE_MARK;
  const mark = await context.call(place, (log) => log.entry(threadId, checkpointId));
  if (mark?.metadata === undefined) return undefined;
  const heldOff = decodeMetadata(mark.metadata, "metadata")[NEW_THREADS_HELD_OFF];
  if (!isPlainObject(heldOff)) return undefined;
  const times = Object.entries(heldOff).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return Object.fromEntries(times);
}

/**
 * An erasure that a writer outruns holds that writer off, by the facts of each thread that it found again: its mark
 * moves the tail, so the next write is refused, its writer reads the facts, and waits. That costs no extra read: a save
 * sees the facts of the tail that it builds on. New threads are held off by the storage's mark (`erasure-mark.ts`).
 *
 * Each erasure has an entry of its own, with a time at which it ends by itself, so that a killed one does not hold
 * writers off for long, and two at once do not end each other's.
 */
export type HeldOff = Readonly<Record<string, number>>;

export interface HoldingOff {
  readonly by: string;
  /** On the storage's clock. Absent where it ends. */
  readonly until: number | undefined;
}

export const ERASING =
  "a person is being erased from it, and what is written now could bring their words back. Load it again in a moment and redo the change";

/** Whether any erasure holds writers off. Asks for the time only where there is one. */
export async function isHeldOff(context: CheckpointContext, heldOff: HeldOff | undefined): Promise<boolean> {
  if (heldOff === undefined) return false;
  const until = Math.max(0, ...Object.values(heldOff));
  return until > (await context.storageNow());
}

/** The entries with this one as it is now; `undefined` where none is left. */
export function withHoldingOff(heldOff: HeldOff | undefined, { by, until }: HoldingOff): HeldOff | undefined {
  const { [by]: _, ...others } = heldOff ?? {};
  const all = until === undefined ? others : { ...others, [by]: until };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** The facts of a thread that is written to: what held writers off is over. */
export function writtenFacts(thread: ThreadFacts | undefined): ThreadFacts | undefined {
  if (thread?.erasing === undefined) return thread;
  const { erasing: _, ...facts } = thread;
  return Object.keys(facts).length === 0 ? undefined : facts;
}
