import type { Forgets } from "../checkpoint/people-in-thread.ts";
import type { ScrubReport } from "../driver/driver.ts";
import type { Warnings } from "../driver/warnings.ts";
import type { HeldBack, Unreached } from "./receipts.ts";

/** Something about a person, and where it is. */
export interface PersonalPlace {
  readonly kind: "message" | "field" | "item" | "user data" | "key";
  /** The thread, or the namespace and the key of the item. Of a key, its name without the person's id. */
  readonly where: string;
  readonly checkpointId?: string;
  /** Which part of it. */
  readonly path: string;
  /** What an export hands out. A key is nobody's data and is left out there. */
  readonly value: unknown;
}

/** How far a party was brought, in the ledger whose id this is. */
export interface AppliedMark {
  readonly ledger: string;
  readonly appliedTo: number;
}

/**
 * Whoever has a part in an erasure: the threads of a checkpointer, a store, or
 * what else keeps something by person, such as keys. An erasure goes through all
 * of them in the order of `OpenedBackends`; one that fails keeps no other from
 * its turn, and there is no receipt before each of them is done.
 *
 * It is never told a person's id, because a tombstone does not hold it: it asks
 * `forgets` about each id that it knows. So the same code carries out a new
 * request, one that was interrupted, and all those that a restored backup lacks.
 * Every method may be called again after a crash, and finds then what is left.
 */
export interface ErasureParty {
  /** How receipts and errors call it; without personal data. */
  readonly name: string;
  /** Holds process state: `process: "keep"` leaves it alone. */
  readonly holdsProcess: boolean;
  /** Has its turn only when every other is done: the others need what it takes away. */
  readonly isLast?: boolean;
  /** Page by page. What cannot be looked at is noted in `warnings`; what cannot be reached is thrown. */
  find(forgets: Forgets, warnings: Warnings): AsyncIterable<readonly PersonalPlace[]>;
  /** What the last `find` did not look into, because nobody can tell whom it is about. */
  unread(): readonly Unreached[];
  /** What the last `find` left out because a legal hold keeps it. Holds are read for each thread and item, and again before it is erased. */
  held(): readonly HeldBack[];
  /** Erases what a page of `find` names; says how many records, items or keys that were. It is looked again until nothing is found. */
  erase(places: readonly PersonalPlace[], forgets: Forgets): Promise<number>;
  /** Keeps others from making copies of what is there, for a while, or lets them again: for an erasure that copies outrun. */
  holdOffCopies?(isHeldOff: boolean): Promise<void>;
  /** Removes the traces that the storage itself keeps, and says what is left to others. */
  scrub(): Promise<ScrubReport>;
  /** Where the party itself keeps how far it was brought, so that a backup of it which is restored tells that it is old. */
  mark(): Promise<AppliedMark | undefined>;
  setMark(mark: AppliedMark): Promise<void>;
}
