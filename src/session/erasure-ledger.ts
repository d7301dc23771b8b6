import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import type { BaseStore } from "../store/base-store.ts";
import { type ErasureReceipt, hashOfReceipt, type RetentionReceipt } from "./receipts.ts";

/** An erasure that was asked for. It comes before everything else, so that whoever finds it can finish it. */
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
/** Each lost race is somebody else's entry. */
const MOST_RACES = 100;

/**
 * What was to be erased and what was: two numbered lists that only grow, without
 * personal data. It lies apart from what it is about, because a backup that is
 * restored must not take it back to an earlier day.
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

  /** The receipt of a request, which has only one: whoever finished first wrote it. */
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
        // There must be no such entry yet: two who number at once cannot both be right.
        await this.#store.put(namespace, keyOf(entry.number), entry, { expectedVersion: 0, index: false });
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

/** In the order of their names they are in the order of their numbers. */
const keyOf = (number: number): string => String(number).padStart(12, "0");
