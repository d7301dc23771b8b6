import { newId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import type { AppliedMark } from "../state/people/applied-mark.ts";
import type { BaseStore } from "../store/base-store.ts";
import {
  type ErasedPlace,
  type ErasureReceipt,
  hashOfEntry,
  hashOfReceipt,
  type RetentionReceipt,
} from "./receipts.ts";

/** A requested erasure. It is written before anything else, so that any process that finds it can finish it. */
export interface Tombstone {
  /** In the order in which they were asked for, from 1. */
  readonly number: number;
  readonly requestId: string;
  /** The keyed hash of the person's id. */
  readonly subject: string;
  readonly reason: string | null;
  readonly process: "erase" | "keep";
  readonly requestedAt: number;
  /** The digest of the one before it: none can be taken out or put in without a trace. */
  readonly previous: string | null;
  /**
   * Only of an entry that stands for one that the ledger lost and a backend remembers: the digest that this one had, as
   * far as a backend noted it. Its number is never given again.
   */
  readonly lost?: string | null;
}

/** The place of a receipt that the ledger lost. It keeps its number from being given again. */
interface LostReceipt {
  readonly number: number;
  readonly requestId: null;
  readonly lost: string | null;
}

/** The ledger as it was read at one time, its chains verified. */
export interface ReadLedger {
  readonly tombstones: readonly Tombstone[];
  readonly receipts: readonly ErasureReceipt[];
  /** The digest of each number from 1; `null` for a lost entry without a recorded digest. */
  readonly erasureDigests: readonly (string | null)[];
  readonly receiptDigests: readonly (string | null)[];
}

const ROOT = "holdfast:erasures";
const TOMBSTONES = [ROOT, "tombstones"] as const;
const RECEIPTS = [ROOT, "receipts"] as const;
const RETENTIONS = [ROOT, "retention"] as const;
/** Of attempts that failed, by the request: what each had erased by then. */
const ATTEMPTS = [ROOT, "attempts"] as const;
/** Each lost race is another process's entry. */
const MOST_RACES = 100;

/**
 * The requested and the finished erasures: two numbered, append-only lists without
 * personal data. They are stored apart from the data, because restoring a backup of
 * the data must not roll them back.
 */
export class ErasureLedger {
  readonly #store: BaseStore;

  constructor(store: BaseStore) {
    this.#store = store;
  }

  /** Receipts first: each belongs to a tombstone that was there before it. */
  async read(): Promise<ReadLedger> {
    const receipts = await this.#all<ErasureReceipt | LostReceipt>(RECEIPTS);
    const tombstones = await this.#all<Tombstone>(TOMBSTONES);
    assertChained(TOMBSTONES, tombstones);
    assertChained(RECEIPTS, receipts);
    return {
      tombstones: tombstones.filter(({ lost }) => lost === undefined),
      receipts: receipts.filter((each): each is ErasureReceipt => !("lost" in each)),
      erasureDigests: tombstones.map(digestOf),
      receiptDigests: receipts.map(digestOf),
    };
  }

  async receipts(): Promise<readonly ErasureReceipt[]> {
    return (await this.read()).receipts;
  }

  addTombstone(wanted: Omit<Tombstone, "number" | "requestId" | "previous" | "lost">): Promise<Tombstone> {
    const requestId = newId();
    return this.#append<Tombstone>(TOMBSTONES, (all) => {
      const last = all.at(-1);
      return { ...wanted, requestId, number: all.length + 1, previous: last === undefined ? null : digestOf(last) };
    });
  }

  /** Entries in place of those that were lost, up to a number, with the digests that backends noted. */
  async markLost(kind: "erasures" | "receipts", upTo: number, digests: ReadonlyMap<number, string>): Promise<void> {
    const namespace = kind === "erasures" ? TOMBSTONES : RECEIPTS;
    const all = await this.#all<Tombstone | LostReceipt>(namespace);
    for (let number = all.length + 1; number <= upTo; number++) {
      const entry = { number, requestId: null, lost: digests.get(number) ?? null };
      await this.#store.put(namespace, keyOf(number), entry, { expectedVersion: null, index: false });
    }
  }

  /** The receipt of a request. There is only one: that of the process that finished first. */
  addReceipt(
    requestId: string,
    make: (place: { readonly number: number; readonly previous: string | null }) => ErasureReceipt,
  ): Promise<ErasureReceipt> {
    return this.#append<ErasureReceipt>(RECEIPTS, (all) => {
      const last = all.at(-1);
      const previous = last === undefined ? null : digestOf(last);
      return all.find((each) => each.requestId === requestId) ?? make({ number: all.length + 1, previous });
    });
  }

  async addAttempt({ requestId }: Tombstone, places: readonly ErasedPlace[]): Promise<void> {
    await this.#store.put([...ATTEMPTS, requestId], newId(), { places }, { index: false });
  }

  async attempts({ requestId }: Tombstone): Promise<readonly ErasedPlace[]> {
    const places: ErasedPlace[] = [];
    let cursor: string | undefined;
    do {
      const options = { limit: 500, ...(cursor !== undefined && { cursor }) };
      const page = await this.#store.list<{ places: readonly ErasedPlace[] }>([...ATTEMPTS, requestId], options);
      for (const { value } of page) places.push(...value.places);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return places;
  }

  /** What rules of retention took: a chain of its own. */
  retentions(): Promise<readonly RetentionReceipt[]> {
    return this.#all<RetentionReceipt>(RETENTIONS);
  }

  addRetention(
    make: (place: { readonly number: number; readonly previous: string | null }) => RetentionReceipt,
  ): Promise<RetentionReceipt> {
    return this.#append<RetentionReceipt>(RETENTIONS, (all) => {
      const last = all.at(-1);
      return make({ number: all.length + 1, previous: last === undefined ? null : hashOfReceipt(last) });
    });
  }

  async #append<Entry extends { readonly number: number }>(
    namespace: readonly string[],
    make: (all: readonly Entry[]) => Entry,
  ): Promise<Entry> {
    for (let races = 0; races < MOST_RACES; races++) {
      const all = await this.#all<Entry>(namespace);
      const entry = make(all);
      if (entry.number <= all.length) return entry;
      try {
        // The entry must not exist yet: when two processes number at once, only one can succeed.
        await this.#store.put(namespace, keyOf(entry.number), entry, { expectedVersion: null, index: false });
        return entry;
      } catch (error) {
        if (!StateError.is(error, "CONFLICT")) throw error;
      }
    }
    throw new StateError("CONFLICT", "the ledger of erasures is written to without a pause; try again later");
  }

  async #all<Entry extends { readonly number: number }>(namespace: readonly string[]): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#store.list<Entry>(namespace, { limit: 500, ...(cursor !== undefined && { cursor }) });
      for (const { value } of page) entries.push(value);
      cursor = page.cursor;
    } while (cursor !== undefined);
    const gap = entries.findIndex(({ number }, index) => number !== index + 1);
    if (gap === -1) return entries;
    throw new StateError("CORRUPT", `entry ${gap + 1} of the ledger of erasures is missing`, {
      location: namespace.join("/"),
    });
  }
}

type Chained = { readonly number: number; readonly lost?: string | null };

/** By which the next one names it. What was lost has the digest that a backend noted. */
const digestOf = (entry: Chained): string | null => ("lost" in entry ? (entry.lost ?? null) : hashOfEntry(entry));

function assertChained(
  namespace: readonly string[],
  entries: readonly (Chained & { readonly previous?: string | null })[],
): void {
  let before: string | null = null;
  for (const entry of entries) {
    // The entry before it has no recorded digest, so what it claims cannot be checked.
    const isFree = "lost" in entry || (before === null && entry.number > 1);
    if (!isFree && (entry.previous ?? null) !== before) {
      throw new StateError(
        "CORRUPT",
        `entry ${entry.number} of the ledger of erasures was not made after the one that is before it: entries were changed or replaced. Restore the newest copy of the ledger`,
        { location: namespace.join("/") },
      );
    }
    before = digestOf(entry);
  }
}

/** Sorted by name, they are sorted by number. */
const keyOf = (number: number): string => String(number).padStart(12, "0");

/** What a backend remembers of this ledger. */
export interface NotedMark {
  readonly name: string;
  readonly mark: AppliedMark;
}

/**
 * What backends remember must be in the ledger. One that was rolled back, or that lost its last entries, would give a
 * number twice, and would not know what has to be erased again in a backup.
 */
export function faultInLedger(noted: readonly NotedMark[], ledger: ReadLedger): string | undefined {
  for (const { name, mark } of noted) {
    const fault =
      faultIn("erasure", mark.appliedTo, mark.erasures, ledger.erasureDigests) ??
      faultIn("receipt", mark.receiptsTo, mark.receipts, ledger.receiptDigests);
    if (fault !== undefined) return `${name} knows ${fault}`;
  }
  return undefined;
}

function faultIn(
  kind: string,
  number: number,
  digest: string | null,
  digests: readonly (string | null)[],
): string | undefined {
  if (number > digests.length) return `${kind} ${number}, and the ledger ends with ${digests.length}`;
  const there = digests[number - 1] ?? null;
  if (number === 0 || digest === null || there === null || there === digest) return undefined;
  return `another ${kind} ${number} than the ledger`;
}

export const wentBack = (fault: string): StateError =>
  new StateError(
    "CORRUPT",
    `the ledger of erasures went back in time, or its last entries were deleted: ${fault}. Nothing was erased and no number was given. Restore the newest copy of the ledger; where there is none, resume({ acceptLostErasures: true }) continues with the next number, and the lost erasures have to be requested again`,
  );

/** The lost entries get their places, so that no number is given twice, and one more, by which every backend's mark is renewed. */
export async function noteLost(
  ledger: ErasureLedger,
  noted: readonly NotedMark[],
  { erasureDigests, receiptDigests }: ReadLedger,
): Promise<void> {
  const marks = noted.map(({ mark }) => mark);
  const most = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0);
  const erasures = most([erasureDigests.length, ...marks.map(({ appliedTo }) => appliedTo)]) + 1;
  const receipts = most([receiptDigests.length, ...marks.map(({ receiptsTo }) => receiptsTo)]) + 1;
  const digestsOf = (pairs: readonly (readonly [number, string | null])[]): ReadonlyMap<number, string> =>
    new Map(pairs.filter((pair): pair is readonly [number, string] => pair[1] !== null));
  await ledger.markLost("erasures", erasures, digestsOf(marks.map((mark) => [mark.appliedTo, mark.erasures])));
  await ledger.markLost("receipts", receipts, digestsOf(marks.map((mark) => [mark.receiptsTo, mark.receipts])));
}
