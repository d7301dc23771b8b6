import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import type { BaseStore } from "../store/base-store.ts";
import { type ErasedPlace, type ErasureReceipt, hashOfReceipt, type RetentionReceipt } from "./receipts.ts";

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
}

const ROOT = "holdfast:erasures";
const TOMBSTONES = [ROOT, "tombstones"] as const;
const RECEIPTS = [ROOT, "receipts"] as const;
const RETENTIONS = [ROOT, "retention"] as const;
/** Of attempts that failed, by the request: what each had erased by then. */
const ATTEMPTS = [ROOT, "attempts"] as const;
/** Each lost race is somebody else's entry. */
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

  tombstones(): Promise<readonly Tombstone[]> {
    return this.#all<Tombstone>(TOMBSTONES);
  }

  receipts(): Promise<readonly ErasureReceipt[]> {
    return this.#all<ErasureReceipt>(RECEIPTS);
  }

  addTombstone(wanted: Omit<Tombstone, "number" | "requestId">): Promise<Tombstone> {
    const requestId = newId();
    return this.#append<Tombstone>(TOMBSTONES, (all) => ({ ...wanted, requestId, number: all.length + 1 }));
  }

  /** The receipt of a request. There is only one: that of the process that finished first. */
  addReceipt(
    requestId: string,
    make: (place: { readonly number: number; readonly previous: string | null }) => ErasureReceipt,
  ): Promise<ErasureReceipt> {
    return this.#append<ErasureReceipt>(RECEIPTS, (all) => {
      const last = all.at(-1);
      const previous = last === undefined ? null : hashOfReceipt(last);
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

/** Sorted by name, they are sorted by number. */
const keyOf = (number: number): string => String(number).padStart(12, "0");
