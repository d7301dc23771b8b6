import type { CheckpointContext } from "../context.ts";
import type { ThreadFacts } from "../record/record.ts";

/**
 * An erasure that a writer outruns holds that writer off. It says so in the facts of each thread that it found again:
 * its mark moves the tail, so whoever was about to write is refused, reads the facts, and waits. Nothing has to be
 * asked for that: a save sees the facts of the tail that it builds on. New threads are held off in the storage's mark
 * (`erasure-mark.ts`).
 *
 * Each erasure has an entry of its own, with a time at which it ends by itself, so that a killed one
 * holds off no one for long, and two at once do not end each other's.
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
