import { openCheckpointer } from "../backends/open.ts";
import { openStore } from "../backends/open-store.ts";
import { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { optionsOf } from "../driver/options.ts";
import { described } from "../internal/known-options.ts";
import { CorePersonalData, type OpenedBackends } from "../session/personal-data.ts";
import { BaseStore } from "../store/base-store.ts";
import { openUserStore } from "./user-store.ts";

const DEFAULT_LEDGER = "sqlite:.erasures.db";

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
  /** A secret of at least 32 bytes that never changes. It hides who was erased, and signs receipts. */
  readonly key: string | Uint8Array;
  /** @default Date.now */
  readonly now?: () => number;
}

/** The backends, released once everything that must be erased in them is erased. */
export interface CleanBackends {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
}

/** Finds, exports and erases what all of these places keep about people, and proves it. */
export class PersonalData extends CorePersonalData {
  readonly #opened: OpenOnce<OpenedBackends & { close(): Promise<void> }>;

  constructor(options: PersonalDataOptions) {
    const known = { checkpointers: true, stores: true, users: true, ledger: true, key: true, now: true } as const;
    const checked = optionsOf("new PersonalData", options, known);
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
  async open(): Promise<CleanBackends> {
    await this.resume();
    const { checkpointers, stores } = await this.#opened.get();
    return { checkpointers, stores };
  }

  /** Closes what was opened here, from URLs. What was handed in stays open. */
  async close(): Promise<void> {
    await (await this.#opened.opened())?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function assertPlaces({ checkpointers = [], stores = [], users, ledger }: PersonalDataOptions): void {
  if (!Array.isArray(checkpointers) || !Array.isArray(stores)) {
    throw new TypeError("PersonalData({ checkpointers, stores }) takes lists");
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
  const { checkpointers = [], stores = [], users, ledger = DEFAULT_LEDGER } = options;
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
    return { checkpointers: threads, stores: items, ledger: await opened<BaseStore>(ledger, openStore), close };
  } catch (error) {
    await close();
    throw error;
  }
}
