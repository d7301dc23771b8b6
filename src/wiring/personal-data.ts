import { openCheckpointer } from "../backends/open.ts";
import { openStore } from "../backends/open-store.ts";
import { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { contextOf } from "../checkpoint/context.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { type Names, optionsOf } from "../driver/options.ts";
import { described } from "../internal/known-options.ts";
import { Keyring } from "../sealing/keys/keyring.ts";
import { keyringOf } from "../sealing/sealing.ts";
import type { ErasureParty } from "../session/erasure-party.ts";
import type { ReplayedErasures, ResumeOptions } from "../session/erasure-run.ts";
import { keyParty } from "../session/key-party.ts";
import { CorePersonalData, type OpenedBackends } from "../session/personal-data.ts";
import { BaseStore } from "../store/base-store.ts";
import { accessOf } from "../store/items/store-access.ts";
import { openUserStore } from "./user-store.ts";

const DEFAULT_LEDGER = "sqlite:.erasures.db";
const OPTIONS: Names<PersonalDataOptions> = {
  checkpointers: true,
  stores: true,
  users: true,
  ledger: true,
  keyrings: true,
  key: true,
  now: true,
};

export interface PersonalDataOptions {
  /** Every place that keeps threads and sessions: checkpointers, or URLs for `openCheckpointer`. */
  readonly checkpointers?: readonly (BaseCheckpointer | string)[];
  /** Every store with items, vectors or memories: stores, or URLs for `openStore`. */
  readonly stores?: readonly (BaseStore | string)[];
  /** The backend that a `UserStore` was given. */
  readonly users?: BaseStore | string;
  /**
   * Where tombstones and receipts are kept: a store, or a URL for `openStore`. Keep
   * it apart from the rest, and out of the rest's backups. @default a SQLite file, `.erasures.db`
   */
  readonly ledger?: BaseStore | string;
  /** Keyrings beside those that the checkpointers and stores are sealed with: these are found. */
  readonly keyrings?: readonly Keyring[];
  /** A secret of at least 32 bytes that never changes. It hides who was erased, and signs receipts. */
  readonly key: string | Uint8Array;
  /** @default Date.now */
  readonly now?: () => number;
}

/** The backends, released once everything that must be erased in them is erased. */
export interface CleanBackends {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
  /** The backends that were older than the ledger, as a restored backup is, or new to it, and what was erased in them again. */
  readonly replayed: readonly ReplayedErasures[];
}

/** Finds, exports and erases what all of these places keep about people, and proves it. */
export class PersonalData extends CorePersonalData {
  readonly #opened: OpenOnce<OpenedBackends & { close(): Promise<void> }>;

  constructor(options: PersonalDataOptions) {
    const checked = optionsOf("new PersonalData", options, OPTIONS);
    const { key, now = Date.now } = checked;
    assertPlaces(checked);
    const opened = new OpenOnce(() => openAll(checked));
    super({ key, now, open: () => opened.get() });
    this.#opened = opened;
  }

  /**
   * The backends, after every erasure in the ledger was carried out in them. A
   * restored backup contains erased data again until then, so open it here and
   * not by itself.
   */
  async open(options?: ResumeOptions): Promise<CleanBackends> {
    const replayed = await this.broughtUp(options);
    const { checkpointers, stores } = await this.#opened.get();
    return { checkpointers, stores, replayed };
  }

  /** Closes what was opened here, from URLs. What was handed in stays open. */
  async close(): Promise<void> {
    await (await this.#opened.opened())?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function assertPlaces({ checkpointers = [], stores = [], users, ledger, keyrings = [] }: PersonalDataOptions): void {
  if (!Array.isArray(checkpointers) || !Array.isArray(stores) || !Array.isArray(keyrings)) {
    throw new TypeError("PersonalData({ checkpointers, stores, keyrings }) takes lists");
  }
  for (const each of keyrings) {
    if (!(each instanceof Keyring))
      throw new TypeError(`PersonalData({ keyrings }) takes keyrings, not ${described(each)}`);
  }
  for (const each of checkpointers) {
    if (typeof each !== "string") assertCheckpointer(each, "PersonalData({ checkpointers })");
  }
  for (const each of [...stores, users, ledger]) {
    if (each === undefined || typeof each === "string" || BaseStore.is(each)) continue;
    throw new TypeError(`PersonalData() takes stores or URLs for openStore(), not ${described(each)}`);
  }
}

/** Opens all of them, or closes again what was opened. */
async function openAll(options: PersonalDataOptions): Promise<OpenedBackends & { close(): Promise<void> }> {
  const { checkpointers = [], stores = [], users, ledger = DEFAULT_LEDGER, keyrings = [] } = options;
  const own: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    for (const each of own) await each.close();
  };
  const opened = async <T extends { close(): Promise<void> }>(given: T | string, open: (url: string) => Promise<T>) => {
    if (typeof given !== "string") return given;
    const made = await open(given);
    own.push(made);
    return made;
  };
  try {
    const threads: BaseCheckpointer[] = [];
    for (const each of checkpointers) threads.push(await opened<BaseCheckpointer>(each, openCheckpointer));
    const items: BaseStore[] = [];
    for (const each of stores) items.push(await opened<BaseStore>(each, openStore));
    if (users !== undefined) items.push(await opened<BaseStore>(users, openUserStore));
    const others = await keyParties(keyrings, threads, items);
    return { checkpointers: threads, stores: items, others, ledger: await opened<BaseStore>(ledger, openStore), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** One for each keyring, however many places it seals. */
async function keyParties(
  given: readonly Keyring[],
  checkpointers: readonly BaseCheckpointer[],
  stores: readonly BaseStore[],
): Promise<readonly ErasureParty[]> {
  const sealed = [
    ...checkpointers.map((each) => contextOf(each)?.log),
    ...stores.map((each) => accessOf(each)?.driver),
  ];
  const keyrings = new Map(given.map((keyring) => [keyring.id, keyring]));
  for (const open of sealed.flatMap((part) => keyringOf(part) ?? [])) {
    const keyring = await open();
    keyrings.set(keyring.id, keyring);
  }
  return [...keyrings.values()].map((keyring, index) => keyParty(keyring, `keys ${index + 1}`));
}
