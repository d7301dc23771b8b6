import { createHash } from "node:crypto";
import type { Forgets } from "../checkpoint/people/people-in-thread.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { ActiveHolds, noteOf } from "../state/people/legal-hold.ts";
import type { BaseStore } from "../store/base-store.ts";
import { forgetInHolds } from "../store/holds.ts";
import { eraseFrom } from "./erasing-from.ts";
import { hasErased, heldBack, Tally, unfinished, withEarlier } from "./erasure-findings.ts";
import {
  type ErasureLedger,
  faultInLedger,
  type NotedMark,
  noteLost,
  type ReadLedger,
  type Tombstone,
  wentBack,
} from "./erasure-ledger.ts";
import type { ErasureParty, ReadHolds } from "./erasure-party.ts";
import { type HoldBook, listHolds } from "./hold-books.ts";
import type { ErasedPlace, ErasureKeys, ErasureReceipt, HeldBack, Unreached } from "./receipts.ts";

export interface EraseOptions {
  /** Only finds and counts; writes nothing. @default false */
  readonly dryRun?: boolean;
  /** The reason, without personal data: it is part of the receipt. */
  readonly reason?: string;
  /** "keep" leaves checkpoints as they are and erases user data and items only. @default "erase" */
  readonly process?: "erase" | "keep";
  /** Issues a receipt although something could not be reached; the receipt says what. @default false */
  readonly acceptUnreached?: boolean;
  /** Gives a receipt although legal holds keep a part, and leaves that as it is; the receipt names the holds. @default false */
  readonly acceptHeld?: boolean;
}

export function checkedOptions(userId: string, given: EraseOptions | undefined): EraseOptions {
  const options = optionsOf("eraseUser", given, {
    dryRun: true,
    reason: true,
    process: true,
    acceptUnreached: true,
    acceptHeld: true,
  });
  const { reason, process } = options;
  if (process !== undefined && process !== "erase" && process !== "keep") {
    throw invalid('process must be "erase" or "keep"');
  }
  if (reason !== undefined && (typeof reason !== "string" || reason.length > 200)) {
    throw invalid("reason must be a text of at most 200 characters");
  }
  if (reason?.includes(userId)) throw invalid("reason must not name the person: it stands in the receipt for ever");
  return options;
}

/** What a receipt may leave out, as long as it says so. */
export type AcceptedGaps = Pick<EraseOptions, "acceptUnreached" | "acceptHeld">;

export interface RunParts {
  readonly keys: ErasureKeys;
  readonly now: () => number;
  readonly ledger: ErasureLedger;
  /** The store that the ledger lies in. */
  readonly ledgerStore: BaseStore;
  /** In the order in which an erasure comes to them. */
  readonly parties: readonly ErasureParty[];
  readonly books: readonly HoldBook[];
}

export interface ResumeOptions extends AcceptedGaps {
  /**
   * Continues although the ledger lost erasures that backends had carried out: their numbers are not given again,
   * and a backup may bring back what they were for. @default false
   */
  readonly acceptLostErasures?: boolean;
}

/** A backend that was older than the ledger, or new to it: what was erased since was erased in it again. */
export interface ReplayedErasures {
  readonly backend: string;
  /** The last erasure that it knew of, and the ledger's last. 0 for none. */
  readonly knewUpTo: number;
  readonly upTo: number;
  /** What came back with it and was erased. */
  readonly erased: ErasedPlace;
}

/** The writers' clocks may differ from the clock of the process that erases. */
const CLOCK_SLACK_MS = 86_400_000;

export const OUTSIDE: Unreached = {
  where: "backups, exports and other copies outside of these backends",
  why: "they cannot be reached from here; a restored backup is cleaned when it is opened with the same ledger",
};

/** An erasure without a receipt, and what was done for it so far. */
interface Pending {
  readonly tombstone: Tombstone;
  readonly places: ErasedPlace[];
  readonly unreached: Unreached[];
  readonly held: HeldBack[];
}

interface Work {
  readonly ledger: ReadLedger;
  readonly tombstones: readonly Tombstone[];
  /** By the request. */
  readonly receipts: ReadonlyMap<string, ErasureReceipt>;
  readonly pending: readonly Pending[];
  readonly acceptUnreached: boolean;
  /** What holds keep of what was erased before and came back with a backup. */
  readonly heldAgain: HeldBack[];
  /** The one that was asked for just now, which no process has begun before. */
  readonly fresh: Tombstone | undefined;
}

/** Everything that the ledger asks for, carried out in every backend. */
export class ErasureRun {
  readonly #given: RunParts;

  constructor(given: RunParts) {
    this.#given = given;
  }

  /** Brings every backend up to the ledger, then writes the receipts that are missing. One backend's failure keeps no other from its turn. */
  async run(
    { acceptUnreached = false, acceptHeld = false, acceptLostErasures = false }: ResumeOptions,
    fresh?: Tombstone,
  ): Promise<readonly ErasureReceipt[]> {
    const { parties } = this.#given;
    const ledger = await this.assertWholeLedger(acceptLostErasures);
    const { tombstones } = ledger;
    const receipts = new Map(ledger.receipts.map((receipt) => [receipt.requestId, receipt]));
    const pending = tombstones
      .filter(({ requestId }) => !receipts.has(requestId))
      .map((tombstone) => ({
        tombstone,
        places: [] as ErasedPlace[],
        unreached: [] as Unreached[],
        held: [] as HeldBack[],
      }));
    const work: Work = { ledger, tombstones, receipts, pending, acceptUnreached, heldAgain: [], fresh };
    try {
      return await this.#carryOut(work, acceptHeld);
    } finally {
      // Writers that cannot be told go on when their time is over, and that must not hide how the erasure ended.
      for (const party of parties) await party.release?.().catch(() => undefined);
    }
  }

  /** What backends were older than the ledger, in this run. */
  readonly replayed: ReplayedErasures[] = [];

  /**
   * The ledger, with everything in it that backends remember of it. Their marks are read first: each was written after
   * what it notes.
   */
  async assertWholeLedger(acceptLost: boolean): Promise<ReadLedger> {
    const { ledger, parties } = this.#given;
    const noted: NotedMark[] = [];
    for (const party of parties) {
      // One that does not answer cannot bear witness; it fails, loudly, when its turn comes.
      const mark = await party.mark().catch(() => undefined);
      if (mark?.ledger === this.#ledgerId) noted.push({ name: party.name, mark });
    }
    const read = await ledger.read();
    const fault = faultInLedger(noted, read);
    if (fault === undefined) return read;
    if (!acceptLost) throw wentBack(fault);
    await noteLost(ledger, noted, read);
    for (const { name, mark } of noted)
      if (faultInLedger([{ name, mark }], read) !== undefined) this.#distrusted.add(name);
    return ledger.read();
  }

  /** Backends whose marks are of erasures that the ledger lost: everything that it knows is carried out in them again. */
  readonly #distrusted = new Set<string>();

  async #carryOut(work: Work, acceptHeld: boolean): Promise<readonly ErasureReceipt[]> {
    const { pending, heldAgain } = work;
    const failures: { readonly name: string; readonly error: unknown }[] = [];
    for (const party of this.#given.parties) {
      if (party.isLast === true && failures.length > 0) continue;
      try {
        await this.#bringUp(party, work);
      } catch (error) {
        failures.push({ name: party.name, error });
      }
    }
    const held = [...heldAgain, ...pending.flatMap((each) => each.held)];
    const isHeldBack = held.length > 0 && !acceptHeld;
    if (failures.length > 0 || isHeldBack) await this.#noteAttempt(pending);
    if (failures.length > 0) throw unfinished(failures);
    if (isHeldBack) throw heldBack(held);
    const made: ErasureReceipt[] = [];
    for (const each of pending) {
      const { subject } = each.tombstone;
      await forgetInHolds(this.#given.ledgerStore, (person) => this.#given.keys.tokenFor(person) === subject);
      made.push(await this.#write(each));
    }
    if (made.length > 0) await this.#noteReceipts();
    return made;
  }

  async #bringUp(party: ErasureParty, work: Work): Promise<void> {
    const { tombstones, receipts, pending, acceptUnreached, heldAgain, fresh } = work;
    const mark = await party.mark();
    const isTrusted = mark?.ledger === this.#ledgerId && !this.#distrusted.has(party.name);
    const appliedTo = isTrusted ? mark.appliedTo : 0;
    const last = work.ledger.erasureDigests.length;
    const concerns = ({ process }: Tombstone): boolean => !(party.holdsProcess && process === "keep");
    // Erased once and not here: the backend was restored from a backup, or is new to this ledger. Data of the same
    // person that came after the erasure is theirs to keep.
    const until = new Map<string, number>();
    for (const tombstone of tombstones) {
      const receipt = receipts.get(tombstone.requestId);
      if (receipt === undefined || tombstone.number <= appliedTo || !concerns(tombstone)) continue;
      until.set(tombstone.subject, Date.parse(receipt.finishedAt) + CLOCK_SLACK_MS);
    }
    const rule = { acceptUnreached, scrubsAlways: true };
    // A key opens what is held: it stays until that goes.
    const mayGo = (held: readonly HeldBack[]): boolean => party.isLast !== true || held.length === 0;
    let isHeldAgain = !mayGo(heldAgain);
    if (until.size > 0 && !isHeldAgain) {
      const { held, place } = await eraseFrom(party, this.#forgetting(until), this.#readHolds, rule);
      this.replayed.push({ backend: party.name, knewUpTo: appliedTo, upTo: last, erased: place });
      isHeldAgain = held.length > 0;
      heldAgain.push(...held);
    }
    for (const { tombstone, places, unreached, held } of pending) {
      if (!concerns(tombstone) || !mayGo(held)) continue;
      if (party.isLast === true) {
        held.push(...(await this.#heldNow(tombstone, party.name)));
        if (held.length > 0) continue;
      }
      const forgets = this.#forgetting(new Map([[tombstone.subject, Number.POSITIVE_INFINITY]]));
      // Earlier erasures may have left traces that could not be removed then.
      const isFirst = !tombstones.some(
        ({ subject, number }) => subject === tombstone.subject && number < tombstone.number,
      );
      const scrubsAlways = tombstone.requestId !== fresh?.requestId || !isFirst;
      const tally = new Tally(party.name);
      const rest = { acceptUnreached, scrubsAlways };
      const erased = await eraseFrom(party, forgets, this.#readHolds, rest, tally).catch((error: unknown) => {
        places.push(tally.place);
        throw error;
      });
      places.push(erased.place);
      unreached.push(...erased.unreached);
      held.push(...erased.held);
    }
    // What a hold kept of an old erasure is tried again when the backend is opened the next time.
    if (last === appliedTo || isHeldAgain) return;
    const erasures = work.ledger.erasureDigests.at(-1) ?? null;
    await party.setMark({ ledger: this.#ledgerId, appliedTo: last, erasures, receiptsTo: 0, receipts: null });
  }

  /**
   * Notes the receipts with parties that keep their number, so that a ledger which loses its last ones is noticed. A
   * party that cannot be reached keeps what it had.
   */
  async #noteReceipts(): Promise<void> {
    const { receiptDigests } = await this.#given.ledger.read();
    const [receiptsTo, receipts] = [receiptDigests.length, receiptDigests.at(-1) ?? null];
    const mark = { ledger: this.#ledgerId, appliedTo: 0, erasures: null, receiptsTo, receipts };
    for (const party of this.#given.parties) {
      const known = await party.mark().catch(() => undefined);
      if (known?.ledger === this.#ledgerId) await party.setMark(mark).catch(() => undefined);
    }
  }

  /** There will be no receipt: that of a later attempt counts what this one erased. */
  async #noteAttempt(pending: readonly Pending[]): Promise<void> {
    for (const { tombstone, places } of pending) {
      // A ledger that cannot be written to must not hide why the erasure failed.
      if (places.some(hasErased)) await this.#given.ledger.addAttempt(tombstone, places).catch(() => undefined);
    }
  }

  readonly #readHolds: ReadHolds = async () => new ActiveHolds(await listHolds(this.#given.books));

  /** A hold on the person themselves that was placed since the erasure began. */
  async #heldNow({ subject }: Tombstone, backend: string): Promise<readonly HeldBack[]> {
    const holds = await listHolds(this.#given.books);
    return holds
      .filter((hold) => hold.lifted === undefined && hold.subject !== undefined)
      .filter((hold) => this.#given.keys.tokenFor(hold.subject ?? "") === subject)
      .map((hold) => ({ ...noteOf(hold), backend, count: 1 }));
  }

  /** `until`: for the hash of each person, the time from which data is new. */
  #forgetting(until: ReadonlyMap<string, number>): Forgets {
    const tokens = new Map<string, number | undefined>();
    return (subject, writtenAt) => {
      if (!tokens.has(subject)) {
        if (tokens.size > 100_000) tokens.clear();
        tokens.set(subject, until.get(this.#given.keys.tokenFor(subject)));
      }
      return writtenAt <= (tokens.get(subject) ?? Number.NEGATIVE_INFINITY);
    };
  }

  async #write({ tombstone, places: last, unreached, held }: Pending): Promise<ErasureReceipt> {
    const { requestId, subject, reason, process, requestedAt } = tombstone;
    const places = withEarlier(last, await this.#given.ledger.attempts(tombstone));
    return this.#given.ledger.addReceipt(requestId, ({ number, previous }) =>
      this.#given.keys.sign({
        format: 1,
        number,
        requestId,
        subject,
        reason,
        process,
        requestedAt: new Date(requestedAt).toISOString(),
        finishedAt: new Date(this.#given.now()).toISOString(),
        dryRun: false,
        places,
        unreached: [...unreached, OUTSIDE],
        held,
        verified: unreached.length === 0 && held.length === 0,
        previous,
      }),
    );
  }

  get #ledgerId(): string {
    return createHash("sha256").update(this.#given.keys.publicKey).digest("base64url").slice(0, 16);
  }
}
