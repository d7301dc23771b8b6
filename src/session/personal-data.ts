import { createHash } from "node:crypto";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import type { Forgets } from "../checkpoint/erasing.ts";
import { assertUserId } from "../driver/ids.ts";
import { optionsOf } from "../driver/options.ts";
import { Warnings } from "../driver/warnings.ts";
import type { BaseStore } from "../store/base-store.ts";
import { checkedOptions, type EraseOptions } from "./erase-options.ts";
import { eraseFrom } from "./erasing-from.ts";
import { Tally, unfinished, unreachedIn } from "./erasure-findings.ts";
import { ErasureLedger, type Tombstone } from "./erasure-ledger.ts";
import type { ErasureParty, PersonalPlace } from "./erasure-party.ts";
import { exportLines } from "./exporting.ts";
import { storeParty, threadParty } from "./parties.ts";
import {
  type ErasedPlace,
  type ErasureKeys,
  type ErasureReceipt,
  type ErasureReport,
  erasureKeys,
  type Unreached,
} from "./receipts.ts";

export interface InventoryPlace {
  readonly backend: string;
  readonly kind: PersonalPlace["kind"];
  /** The thread, or the namespace and the key of the item. */
  readonly where: string;
  /** How often; a value in several checkpoints counts in each. */
  readonly count: number;
}

export interface Inventory {
  readonly total: number;
  readonly places: readonly InventoryPlace[];
  readonly unreached: readonly Unreached[];
}

/** Everything that may hold personal data, once it is open. */
export interface OpenedBackends {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
  /** Further participants: an erasure visits them after the threads and stores, which may need them to be readable. */
  readonly others?: readonly ErasureParty[];
  readonly ledger: BaseStore;
}

export interface CorePersonalDataOptions {
  readonly key: string | Uint8Array;
  readonly now: () => number;
  readonly open: () => Promise<OpenedBackends>;
}

/** The clocks of the writers may differ from that of the eraser. */
const CLOCK_SLACK_MS = 86_400_000;

const OUTSIDE: Unreached = {
  where: "backups, exports and other copies outside of these backends",
  why: "they cannot be reached from here; a restored backup is cleaned when it is opened with the same ledger",
};

/** An erasure without a receipt, and what was done for it so far. */
interface Pending {
  readonly tombstone: Tombstone;
  readonly places: ErasedPlace[];
  readonly unreached: Unreached[];
}

interface Work {
  readonly tombstones: readonly Tombstone[];
  /** By the request. */
  readonly receipts: ReadonlyMap<string, ErasureReceipt>;
  readonly pending: readonly Pending[];
  readonly acceptUnreached: boolean;
  /** The request that was just made: no process has begun it before. */
  readonly fresh: Tombstone | undefined;
}

/** Finds, hands out and erases what is about a person; `PersonalData` finds the backends by itself. */
export class CorePersonalData {
  readonly #keys: ErasureKeys;
  readonly #now: () => number;
  readonly #open: () => Promise<OpenedBackends>;

  constructor({ key, now, open }: CorePersonalDataOptions) {
    this.#keys = erasureKeys(key);
    this.#now = now;
    this.#open = open;
  }

  /** The key to verify receipts with: `faultInReceipts(receipts, publicKey)`. */
  get publicKey(): string {
    return this.#keys.publicKey;
  }

  /** Every receipt, in order. */
  async receipts(): Promise<readonly ErasureReceipt[]> {
    return new ErasureLedger((await this.#open()).ledger).receipts();
  }

  /** Where something about this person is stored. */
  async inventory(userId: string): Promise<Inventory> {
    assertUserId(userId);
    const counts = new Map<string, { place: Omit<InventoryPlace, "count">; count: number }>();
    const warnings = new Warnings();
    const unread: Unreached[] = [];
    let total = 0;
    for (const party of await this.#parties()) {
      for await (const found of party.find((subject) => subject === userId, warnings)) {
        for (const { kind, where } of found) {
          const key = JSON.stringify([party.name, kind, where]);
          const known = counts.get(key) ?? { place: { backend: party.name, kind, where }, count: 0 };
          counts.set(key, { ...known, count: known.count + 1 });
          total++;
        }
      }
      unread.push(...party.unread());
    }
    const places = [...counts.values()].map(({ place, count }) => ({ ...place, count }));
    return { total, places, unreached: [...unreachedIn(warnings.list), ...unread] };
  }

  /** Everything about this person as lines of JSON; the first one describes the others. */
  async *exportUser(userId: string): AsyncGenerator<string, void, undefined> {
    assertUserId(userId);
    yield* exportLines(await this.#parties(), userId);
  }

  eraseUser(userId: string, options: EraseOptions & { readonly dryRun: true }): Promise<ErasureReport>;
  eraseUser(userId: string, options?: EraseOptions): Promise<ErasureReceipt>;
  async eraseUser(userId: string, given?: EraseOptions): Promise<ErasureReport | ErasureReceipt> {
    assertUserId(userId);
    const options = checkedOptions(userId, given);
    const { dryRun = false, reason = null, process = "erase" } = options;
    if (dryRun) return this.#wouldErase(userId, process);
    const ledger = new ErasureLedger((await this.#open()).ledger);
    // Before anything else, so that after a crash another process finds what is left to do.
    const subject = this.#keys.tokenFor(userId);
    const tombstone = await ledger.addTombstone({ subject, reason, process, requestedAt: this.#now() });
    const receipts = await this.#finish(ledger, options.acceptUnreached ?? false, tombstone);
    const receipt = receipts.find(({ requestId }) => requestId === tombstone.requestId);
    if (receipt === undefined) throw new TypeError("the erasure that was just finished has no receipt");
    return receipt;
  }

  /** Finishes what was interrupted, and erases again what a restored backup brought back. */
  async resume(given?: Pick<EraseOptions, "acceptUnreached">): Promise<readonly ErasureReceipt[]> {
    const { acceptUnreached = false } = optionsOf("resume", given, { acceptUnreached: true });
    return this.#finish(new ErasureLedger((await this.#open()).ledger), acceptUnreached);
  }

  /** In the order in which an erasure visits them. */
  async #parties(): Promise<readonly ErasureParty[]> {
    const { checkpointers, stores, others = [] } = await this.#open();
    return [
      ...checkpointers.map((each, index) => threadParty(each, `threads ${index + 1}`)),
      ...stores.map((each, index) => storeParty(each, `store ${index + 1}`)),
      ...others,
    ];
  }

  async #wouldErase(userId: string, process: "erase" | "keep"): Promise<ErasureReport> {
    const places: ErasedPlace[] = [];
    const warnings = new Warnings();
    for (const party of await this.#parties()) {
      if (party.holdsProcess && process === "keep") continue;
      const tally = new Tally(party.name);
      for await (const found of party.find((subject) => subject === userId, warnings)) tally.add(found);
      places.push(tally.place);
    }
    return { dryRun: true, places, unreached: [...unreachedIn(warnings.list), OUTSIDE] };
  }

  /**
   * Brings every backend up to date with the ledger, then writes the missing
   * receipts. A failed backend does not stop the others.
   */
  async #finish(
    ledger: ErasureLedger,
    acceptUnreached: boolean,
    fresh?: Tombstone,
  ): Promise<readonly ErasureReceipt[]> {
    const tombstones = await ledger.tombstones();
    const receipts = new Map((await ledger.receipts()).map((receipt) => [receipt.requestId, receipt]));
    const pending = tombstones
      .filter(({ requestId }) => !receipts.has(requestId))
      .map((tombstone) => ({ tombstone, places: [] as ErasedPlace[], unreached: [] as Unreached[] }));
    const failures: { readonly name: string; readonly error: unknown }[] = [];
    for (const party of await this.#parties()) {
      if (party.isLast === true && failures.length > 0) continue;
      try {
        await this.#bringUp(party, { tombstones, receipts, pending, acceptUnreached, fresh });
      } catch (error) {
        failures.push({ name: party.name, error });
      }
    }
    if (failures.length > 0) throw unfinished(failures);
    const made: ErasureReceipt[] = [];
    for (const each of pending) made.push(await this.#write(ledger, each));
    return made;
  }

  async #bringUp(party: ErasureParty, work: Work): Promise<void> {
    const { tombstones, receipts, pending, acceptUnreached, fresh } = work;
    const mark = await party.mark();
    const appliedTo = mark?.ledger === this.#ledgerId ? mark.appliedTo : 0;
    const concerns = ({ process }: Tombstone): boolean => !(party.holdsProcess && process === "keep");
    // Erased before, but not here: the backend was restored from a backup, or is new to this ledger. Data of the same person
    // that was written after the erasure is kept.
    const until = new Map<string, number>();
    for (const tombstone of tombstones) {
      const receipt = receipts.get(tombstone.requestId);
      if (receipt === undefined || tombstone.number <= appliedTo || !concerns(tombstone)) continue;
      until.set(tombstone.subject, Date.parse(receipt.finishedAt) + CLOCK_SLACK_MS);
    }
    const rule = { acceptUnreached, scrubsAlways: true };
    if (until.size > 0) await eraseFrom(party, this.#forgetting(until), rule);
    for (const { tombstone, places, unreached } of pending) {
      if (!concerns(tombstone)) continue;
      const forgets = this.#forgetting(new Map([[tombstone.subject, Number.POSITIVE_INFINITY]]));
      // A person who was erased before may have left traces that could not be removed then.
      const isFirst = !tombstones.some(
        ({ subject, number }) => subject === tombstone.subject && number < tombstone.number,
      );
      const scrubsAlways = tombstone.requestId !== fresh?.requestId || !isFirst;
      const erased = await eraseFrom(party, forgets, { acceptUnreached, scrubsAlways });
      places.push(erased.place);
      unreached.push(...erased.unreached);
    }
    const last = tombstones.at(-1)?.number ?? 0;
    if (last > appliedTo) await party.setMark({ ledger: this.#ledgerId, appliedTo: last });
  }

  /** `until`: for the hash of each person, the time from which data is new. */
  #forgetting(until: ReadonlyMap<string, number>): Forgets {
    const tokens = new Map<string, number | undefined>();
    return (subject, writtenAt) => {
      if (!tokens.has(subject)) {
        if (tokens.size > 100_000) tokens.clear();
        tokens.set(subject, until.get(this.#keys.tokenFor(subject)));
      }
      return writtenAt <= (tokens.get(subject) ?? Number.NEGATIVE_INFINITY);
    };
  }

  #write(ledger: ErasureLedger, { tombstone, places, unreached }: Pending): Promise<ErasureReceipt> {
    const { requestId, subject, reason, process, requestedAt } = tombstone;
    return ledger.addReceipt(requestId, ({ number, previous }) =>
      this.#keys.sign({
        format: 1,
        number,
        requestId,
        subject,
        reason,
        process,
        requestedAt: new Date(requestedAt).toISOString(),
        finishedAt: new Date(this.#now()).toISOString(),
        dryRun: false,
        places,
        unreached: [...unreached, OUTSIDE],
        verified: unreached.length === 0,
        previous,
      }),
    );
  }

  get #ledgerId(): string {
    return createHash("sha256").update(this.#keys.publicKey).digest("base64url").slice(0, 16);
  }
}
