import { invalid, optionsOf } from "../driver/options.ts";
import { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { ActiveHolds, heldError, type LegalHold } from "../state/people/legal-hold.ts";
import { encodeValue } from "../state/values/codec.ts";
import { Tally, unreachedIn } from "./erasure-findings.ts";
import { ErasureLedger } from "./erasure-ledger.ts";
import type { ErasureParty } from "./erasure-party.ts";
import {
  checkedOptions,
  type EraseOptions,
  ErasureRun,
  OUTSIDE,
  type ReplayedErasures,
  type ResumeOptions,
} from "./erasure-run.ts";
import {
  agreeOnHolds,
  booksOf,
  type HoldBook,
  type HoldRequest,
  type LiftRequest,
  type ListedHold,
  liftHold,
  listHolds,
  placeHold,
  readableBooks,
  storeBook,
} from "./hold-books.ts";
import { storeParty, threadParty } from "./parties.ts";
import type { Inventory, InventoryPlace, OpenedBackends } from "./personal-data.ts";
import type {
  ErasedPlace,
  ErasureKeys,
  ErasureReceipt,
  ErasureReport,
  HeldBack,
  RetentionReceipt,
  Unreached,
} from "./receipts.ts";
import { type RetentionReport, retain } from "./retention.ts";
import { type RetentionOptions, type RetentionOutcome, retentionOptions } from "./retention-rules.ts";

export interface PersonalDataWorkOptions {
  readonly keys: ErasureKeys;
  readonly now: () => number;
  readonly open: () => Promise<OpenedBackends>;
}

/** What `CorePersonalData` does, in a file that comes with its first use. */
export class PersonalDataWork {
  readonly #keys: ErasureKeys;
  readonly #now: () => number;
  readonly #open: () => Promise<OpenedBackends>;

  constructor({ keys, now, open }: PersonalDataWorkOptions) {
    this.#keys = keys;
    this.#now = now;
    this.#open = open;
  }

  async receipts(): Promise<readonly ErasureReceipt[]> {
    return new ErasureLedger((await this.#open()).ledger).receipts();
  }

  async inventory(userId: string): Promise<Inventory> {
    assertPerson(userId);
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

  async *exportUser(userId: string): AsyncGenerator<string, void, undefined> {
    assertPerson(userId);
    yield* exportLines(await this.#parties(), userId);
  }

  eraseUser(userId: string, options: EraseOptions & { readonly dryRun: true }): Promise<ErasureReport>;
  eraseUser(userId: string, options?: EraseOptions): Promise<ErasureReceipt>;
  async eraseUser(userId: string, given?: EraseOptions): Promise<ErasureReport | ErasureReceipt> {
    assertPerson(userId);
    const options = checkedOptions(userId, given);
    const { dryRun = false, reason = null, process = "erase" } = options;
    if (dryRun) return this.#wouldErase(userId, process);
    const ledger = new ErasureLedger((await this.#open()).ledger);
    const hold = new ActiveHolds(await listHolds(await readableBooks(await this.#books()))).onPerson(userId);
    if (hold !== undefined) throw heldError("what is kept about this person", hold);
    // Before anything else, so that a process that takes over after a crash finds what is
    // left to do.
    const subject = this.#keys.tokenFor(userId);
    const run = await this.#run();
    // A ledger that went back in time would give a number that was given before.
    await run.assertWholeLedger(false);
    const tombstone = await ledger.addTombstone({ subject, reason, process, requestedAt: this.#now() });
    const receipts = await run.run(options, tombstone);
    const receipt = receipts.find(({ requestId }) => requestId === tombstone.requestId);
    if (receipt === undefined) throw new TypeError("the erasure that was just finished has no receipt");
    return receipt;
  }

  /** Finishes what was interrupted, and erases again what a restored backup brought back. */
  async resume(given?: ResumeOptions): Promise<readonly ErasureReceipt[]> {
    return (await this.bringUp(given)).receipts;
  }

  /** The same, and which backends were older than the ledger. */
  async bringUp(
    given?: ResumeOptions,
  ): Promise<{ readonly receipts: readonly ErasureReceipt[]; readonly replayed: readonly ReplayedErasures[] }> {
    const names = { acceptUnreached: true, acceptHeld: true, acceptLostErasures: true } as const;
    const accepted = optionsOf("resume", given, names);
    await agreeOnHolds(await readableBooks(await this.#books()));
    const run = await this.#run();
    return { receipts: await run.run(accepted), replayed: run.replayed };
  }

  /**
   * Takes what the rules no longer keep, and returns a receipt; with `dryRun`,
   * says what would go and why. What is under a legal hold stays and is named.
   */
  applyRetention(options: RetentionOptions & { readonly dryRun: true }): Promise<RetentionReport>;
  applyRetention(options: RetentionOptions): Promise<RetentionOutcome>;
  async applyRetention(given: RetentionOptions): Promise<RetentionReport | RetentionOutcome> {
    const { rules, dryRun = false, reason } = retentionOptions(given);
    const opened = await this.#open();
    const startedAt = this.#now();
    const report = await retain(opened, rules, { dryRun, now: startedAt });
    if (dryRun) return report;
    const { totals, held, skipped } = report;
    const [from, to] = [new Date(startedAt).toISOString(), new Date(this.#now()).toISOString()];
    const facts = {
      dryRun: false,
      rules,
      totals,
      held,
      skipped,
      reason: reason ?? null,
      startedAt: from,
      finishedAt: to,
    };
    const ledger = new ErasureLedger(opened.ledger);
    const receipt = await ledger.addRetention((place) =>
      this.#keys.sign({ format: 1, kind: "retention", ...place, ...facts }),
    );
    return { ...report, receipt };
  }

  async retentionReceipts(): Promise<readonly RetentionReceipt[]> {
    return new ErasureLedger((await this.#open()).ledger).retentions();
  }

  /** Keeps what is about a person, or threads, from being erased, deleted or vacuumed, in every backend and in the ledger. */
  async placeHold(request: HoldRequest): Promise<LegalHold> {
    return placeHold(await this.#books(), request, this.#now(), await this.#parties());
  }

  async liftHold(id: string, request: LiftRequest): Promise<LegalHold> {
    return liftHold(await this.#books(), id, request, this.#now());
  }

  async holds(): Promise<readonly ListedHold[]> {
    return listHolds(await this.#books());
  }

  async #run(): Promise<ErasureRun> {
    const { ledger: ledgerStore } = await this.#open();
    const [keys, now, ledger] = [this.#keys, this.#now, new ErasureLedger(ledgerStore)];
    return new ErasureRun({
      keys,
      now,
      ledger,
      ledgerStore,
      parties: await this.#parties(),
      books: await this.#books(),
    });
  }

  /** The ledger first: it is what a restored backup is compared with. */
  async #books(): Promise<readonly HoldBook[]> {
    const { checkpointers, stores, ledger } = await this.#open();
    return [storeBook(ledger, "ledger"), ...booksOf({ checkpointers, stores })];
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
    const held: HeldBack[] = [];
    const warnings = new Warnings();
    const books = await this.#books();
    const readHolds = async (): Promise<ActiveHolds> => new ActiveHolds(await listHolds(books));
    for (const party of await this.#parties()) {
      if (party.holdsProcess && process === "keep") continue;
      const tally = new Tally(party.name);
      for await (const found of party.find((subject) => subject === userId, warnings, readHolds)) tally.add(found);
      places.push(tally.place);
      held.push(...party.held());
    }
    return { dryRun: true, places, unreached: [...unreachedIn(warnings.list), OUTSIDE], held };
  }
}

/**
 * Any person who can be named as a subject can be looked for and erased, however long the id
 * is.
 */
function assertPerson(userId: unknown): asserts userId is string {
  if (typeof userId === "string" && userId !== "") return;
  throw invalid("the user id is the subject that was given for this person: a text, and it must not be empty");
}

/** The first line of an export: what the fields of the others are. */
const DESCRIPTION = {
  schema: "holdfast.export/1",
  fields: {
    backend: "which of the backends it is from",
    kind: '"message", "field" (a value in a state or an item), "item" (of a store) or "user data"',
    where: "the thread, or the namespace and the key",
    checkpointId: "the newest checkpoint that holds it, where it has a name",
    path: "which part of it",
    metadata: "of an item, its metadata",
    value: 'the value; what JSON lacks is an object with the key "$", as docs/state.md says',
  },
};

/** Everything about a person, each value once however many checkpoints hold it. */
async function* exportLines(parties: readonly ErasureParty[], userId: string): AsyncGenerator<string, void, undefined> {
  yield JSON.stringify(DESCRIPTION);
  let failure: StateError | undefined;
  for (const party of parties) {
    const warnings = new Warnings();
    for await (const found of party.find((subject) => subject === userId, warnings)) {
      const told = new Set<string>();
      for (const { kind, where, checkpointId, path, value, beside = {} } of found) {
        if (kind === "key") continue;
        const encoded = encodeValue(value, "value");
        const same = JSON.stringify([kind, where, path.replace(/\d+/g, "0"), encoded]);
        if (told.has(same)) continue;
        told.add(same);
        const rest = encodeValue(beside, "item") as object;
        yield JSON.stringify({ backend: party.name, kind, where, checkpointId, path, value: encoded, ...rest });
      }
    }
    const [first] = warnings.list;
    if (first !== undefined) {
      failure ??= new StateError(first.code, `${party.name}: the export is not whole: ${first.message}`);
    }
  }
  // What can be read is handed out all the same.
  if (failure !== undefined) throw failure;
}
