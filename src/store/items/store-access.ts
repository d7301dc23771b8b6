import { setMaxListeners } from "node:events";
import { type Access, assertAccess, readOnlyAccess } from "../../driver/access.ts";
import { asStateError, type CallPlace, callDriver, policyFor, type RetryPolicy, retrying } from "../../driver/call.ts";
import { assertDurability, type Durability, warnOfWeaker } from "../../driver/durability.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { ERROR_CODES, StateError } from "../../errors.ts";
import { endOfLongTurn } from "../../internal/time.ts";
import type { Redactor } from "../../state/secrets.ts";
import type { Change, StoreDriver, WriteOutcome } from "../driver/store-driver.ts";
import type { Embedder } from "../search/embedder.ts";

export interface StoreOptions {
  /** Makes `put` and `search` semantic by themselves: an embedding model of the AI SDK, or a function of your own. */
  readonly embedder?: Embedder;
  /** How long one call of the embedder may take. @default 60_000 */
  readonly embedTimeoutMs?: number;
  /** How many numbers a vector has. @default that of the vectors that are there, else of the first one */
  readonly dimension?: number;
  /** Which parts of a value are found by words and embedded: paths such as `"title"` or `"notes[*].text"`. @default every text in it */
  readonly index?: readonly string[];
  /** How much the words count in a hybrid search; the vectors count for the rest. @default 0.5; 0.7 is better with a small embedding model */
  readonly textWeight?: number;
  /**
   * Called with every text of an item before it is written, indexed or embedded:
   * `redactSecrets`, `refuseSecrets`, or a function of your own. @default nothing is redacted
   */
  readonly redact?: Redactor;
  readonly retry?: RetryPolicy;
  /** With `"read"` nothing is created or changed, and whatever writes is refused. @default "write" */
  readonly access?: Access;
  /** What you count on. A process warning says so where the storage, as it is configured, gives less. */
  readonly durability?: Durability;
  /** `new Sealing({ keyring })`: what is written is sealed, and what is not sealed is refused. @default nothing is sealed */
  readonly sealing?: StoreSealing;
}

/** Puts a driver of its own between a store and its driver. */
export interface StoreSealing {
  overStore(driver: StoreDriver): StoreDriver;
}

/** The driver behind one guarded call: contact is made once, what may pass is tried again, errors say where. */
export class StoreAccess {
  readonly driver: StoreDriver;
  readonly access: Access;
  readonly #retry: RetryPolicy;
  readonly #wanted: Durability | undefined;
  readonly #closing = new AbortController();
  readonly #contact: OpenOnce<void> = new OpenOnce(() => this.#makeContact());
  #wasReached = false;

  constructor(driver: StoreDriver, { retry = {}, durability, access = "write", sealing }: StoreOptions) {
    assertAccess(access);
    assertDurability(durability);
    // Every call that waits is one.
    setMaxListeners(0, this.#closing.signal);
    this.driver = sealing?.overStore(driver) ?? driver;
    this.access = access;
    this.#retry = retry;
    this.#wanted = durability;
    if (!this.driver.capabilities.connects) warnOfWeaker(driver, durability);
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** `failed` is called for every attempt that fails. */
  async call<T>(
    place: CallPlace,
    work: (driver: StoreDriver) => Promise<T>,
    failed?: (error: unknown) => void,
  ): Promise<T> {
    this.assertOpen(place.operation);
    await this.connect(place);
    const pause = endOfLongTurn();
    if (pause !== undefined) await pause;
    const policy = policyFor(this.#retry, this.#wasReached);
    const answer = await callDriver(this.driver, policy, place, work, this.#closing.signal, failed);
    this.#wasReached = true;
    return answer;
  }

  /**
   * A failure that leaves open whether the write was made says so: it can be repeated under its id. A storage that is full
   * made none of it.
   */
  async write(place: CallPlace, changes: readonly Change[]): Promise<WriteOutcome> {
    let mayBe = false;
    const note = (error: unknown): void => {
      const code = StateError.is(error) ? error.code : (this.driver.classify(error) ?? "UNKNOWN");
      mayBe ||= ERROR_CODES[code].retryable || code === "UNKNOWN";
    };
    try {
      return await this.call(place, (driver) => driver.write(changes), note);
    } catch (error) {
      if (!StateError.is(error) || error.context.written !== undefined) throw error;
      if (!mayBe && error.code !== "STORAGE_FULL") throw error;
      const { code, message, context, cause } = error;
      throw new StateError(code, message, { ...context, written: mayBe ? "unknown" : "no", cause });
    }
  }

  /** Connects the driver once. A failure is met again by the next caller. */
  async connect(place: CallPlace): Promise<void> {
    try {
      await this.#contact.get();
    } catch (error) {
      throw asStateError(this.driver, place, error);
    }
  }

  /** Says where in any StateError that comes out of `work` without saying so itself. */
  async guard<T>(place: CallPlace, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw StateError.is(error) ? asStateError(this.driver, place, error) : error;
    }
  }

  assertOpen(operation: string): void {
    if (!this.isClosed) return;
    const { name } = this.driver;
    throw new StateError("CLOSED", `${name}: ${operation} after close(); open the store again`, { backend: name });
  }

  /** Called first by every operation that writes. */
  assertMayWrite(operation: string): void {
    this.assertOpen(operation);
    if (this.access === "read") throw asStateError(this.driver, { operation }, readOnlyAccess());
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.#closing.abort(new StateError("CLOSED", "the store was closed meanwhile"));
    await this.driver.close();
  }

  async #makeContact(): Promise<void> {
    const policy = policyFor(this.#retry, this.#wasReached);
    await retrying(this.driver, policy, (driver) => driver.connect(), this.#closing.signal);
    if (!this.driver.capabilities.connects) return;
    this.#wasReached = true;
    warnOfWeaker(this.driver, this.#wanted);
  }
}

const accesses = new WeakMap<object, StoreAccess>();

/** The access of a new store. */
export function openAccess(owner: object, driver: StoreDriver, options: StoreOptions): StoreAccess {
  const access = new StoreAccess(driver, options);
  accesses.set(owner, access);
  return access;
}

/**
 * What is inside a store, for those rooms of the package that put its driver to
 * another use. Not exported from the package. `undefined` for one without a driver.
 */
export const accessOf = (store: object): StoreAccess | undefined => accesses.get(store);
