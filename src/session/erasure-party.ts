import type { Forgets } from "../checkpoint/people/people-in-thread.ts";
import type { ScrubReport } from "../driver/driver.ts";
import type { Warnings } from "../driver/warnings.ts";
import type { AppliedMark } from "../state/people/applied-mark.ts";
import type { ActiveHolds, HoldNote } from "../state/people/legal-hold.ts";
import type { HeldBack, Unreached } from "./receipts.ts";

/** Something about a person, and where it is. */
export interface PersonalPlace {
  readonly kind: "message" | "field" | "item" | "user data" | "key";
  /** The thread, or the item's namespace and key. For a key, its name without the person's id. */
  readonly where: string;
  readonly checkpointId?: string;
  /** Which part of it. */
  readonly path: string;
  /** The exported value. A key is not personal data and is not exported. */
  readonly value: unknown;
  /** Other personal content of an item: its metadata. */
  readonly beside?: Readonly<Record<string, unknown>>;
}

/** The holds of all backends and of the ledger, read anew by each call. */
export type ReadHolds = () => Promise<ActiveHolds>;

/**
 * A participant in an erasure: the threads of a checkpointer, a store, or anything
 * else that keeps something by person, such as keys. An erasure visits all of them
 * in the order of `OpenedBackends`. A failure of one does not stop the others, and
 * there is no receipt before all of them are done.
 *
 * It never gets a person's id, because a tombstone does not contain it: it asks
 * `forgets` about each id that it knows. So the same code carries out a new request,
 * an interrupted one, and all those that a restored backup lacks. Every method may
 * be called again after a crash, and then finds what is left.
 */
export interface ErasureParty {
  /** Its name in receipts and errors; without personal data. */
  readonly name: string;
  /** Holds process state: `process: "keep"` leaves it alone. */
  readonly holdsProcess: boolean;
  /** Comes after all others: they need what it removes. */
  readonly isLast?: boolean;
  /**
   * In pages. What cannot be read is noted in `warnings`; what cannot be reached is
   * thrown. `readHolds` is missing where nothing is to be erased.
   */
  find(
    forgets: Forgets,
    warnings: Warnings,
    readHolds?: ReadHolds,
    /** It is looked again: what is written to meanwhile may be left to that. */
    mayPostpone?: boolean,
  ): AsyncIterable<readonly PersonalPlace[]>;
  /** How much the last `find` left to the next one, because it was written to meanwhile. */
  postponed?(): number;
  /** What the last `find` did not look into, because its subject is unknown. */
  unread(): readonly Unreached[];
  /** What the last `find` left out because a legal hold keeps it. Holds are read for each thread and item, and again before it is erased. */
  held(): readonly HeldBack[];
  /** Erases what a page of `find` names; says how many records, items or keys that were. It is looked again until nothing is found. */
  erase(places: readonly PersonalPlace[], forgets: Forgets, readHolds: ReadHolds): Promise<number>;
  /**
   * A hold on this person was just written to every backend. When it returns, the
   * hold also counts for what `erase` was about to take: that reads the place of a
   * thing, then the holds, and takes it only from that place. Only for parties
   * that keep no holds of their own.
   */
  holdPlaced?(subject: string): Promise<void>;
  /**
   * For an erasure that finds data again because others write while it looks: from here on their writes are refused,
   * both to new places and to those that `erase` reaches, for this long or until `release`.
   */
  holdOff?(forMs: number): Promise<void>;
  /** Whether writers were held off the whole time; otherwise it has to look again. */
  isHoldingOff?(): Promise<boolean>;
  release?(): Promise<void>;
  /** Removes the traces that the storage itself keeps, and reports what is left to others. */
  scrub(): Promise<ScrubReport>;
  /** How far the party got, stored by the party itself: a restored backup of it thus shows that it is old. */
  mark(): Promise<AppliedMark | undefined>;
  setMark(mark: AppliedMark): Promise<void>;
}

/** Counts what holds keep in one backend. */
export class HeldTally {
  readonly #backend: string;
  readonly #counts = new Map<string, HeldBack>();

  constructor(backend: string) {
    this.#backend = backend;
  }

  clear(): void {
    this.#counts.clear();
  }

  add(hold: HoldNote, count: number): void {
    const { id, reason, placedBy, placedAt } = hold;
    const before = this.#counts.get(id)?.count ?? 0;
    this.#counts.set(id, { id, reason, placedBy, placedAt, backend: this.#backend, count: before + count });
  }

  get list(): readonly HeldBack[] {
    return [...this.#counts.values()];
  }
}
