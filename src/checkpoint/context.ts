import { setMaxListeners } from "node:events";
import { type Access, assertAccess, readOnlyAccess } from "../driver/access.ts";
import { asStateError, type CallPlace, callDriver, policyFor, type RetryPolicy, retrying } from "../driver/call.ts";
import { assertDurability, type Durability, warnOfWeaker } from "../driver/durability.ts";
import { newId } from "../driver/ids.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { StateError } from "../errors.ts";
import { endOfLongTurn } from "../internal/time.ts";
import type { StateSchema } from "../state/fields.ts";
import type { Redactor } from "../state/secrets.ts";
import { DeferredIndex } from "./find/deferred-index.ts";
import { type LeaseHolder, thisProcess } from "./lease/lease-holder.ts";
import { ReadOnlyLog } from "./log/read-only-log.ts";
import type { ThreadLog } from "./log/thread-log.ts";
import { WarmThreads } from "./thread/position.ts";

export interface CheckpointerOptions {
  /** The version of your own part of the state, and how to migrate an older one. */
  readonly stateSchema?: StateSchema;
  readonly retry?: RetryPolicy;
  /** The clock that stamps records. @default Date.now */
  readonly now?: () => number;
  /**
   * Called with every text of a save before it is written: `redactSecrets`,
   * `refuseSecrets`, or a function of your own. The state in memory stays as it is. @default nothing is redacted
   */
  readonly redact?: Redactor;
  /** The durability you rely on. A process warning tells if the storage, as it is configured, gives less. */
  readonly durability?: Durability;
  /**
   * `"read"` is for looking: nothing is created, migrated, indexed, locked or
   * cleaned up. A store that does not exist is `NOT_FOUND`, and every write is
   * `PERMISSION_DENIED` before anything is sent. @default "write"
   */
  readonly access?: Access;
  /** `new Sealing({ keyring })`: what is written is sealed, and what is not sealed is refused. @default nothing is sealed */
  readonly sealing?: LogSealing;
  /**
   * How many bytes of recent states are kept in memory, so that loading a thread
   * again reads only what is newer. 0 keeps nothing. @default 33554432, and 0 with
   * `sealing`: a key that is destroyed must not leave what it sealed in memory
   */
  readonly cacheBytes?: number;
}

/** Puts a log of its own between a checkpointer and its log. */
export interface LogSealing {
  over(log: ThreadLog): ThreadLog;
}

const CACHE_BYTES = 32 * 1024 * 1024;

/** What the features above a log share: the driver behind one guarded call, a clock, and names. */
export class CheckpointContext {
  readonly log: ThreadLog;
  readonly access: Access;
  readonly schema: StateSchema | undefined;
  readonly now: () => number;
  readonly redactor: Redactor | undefined;
  /** The key under which a state remembers its place for this checkpointer. */
  readonly id: string = newId();
  readonly index: DeferredIndex = new DeferredIndex(this);
  readonly clock: StorageClock = new StorageClock(this);
  readonly warm: WarmThreads;
  readonly #policyOnceReached: RetryPolicy;
  readonly #wanted: Durability | undefined;
  readonly #closing = new AbortController();
  /** Aborts when the checkpointer is closed, which ends everything that waits. */
  readonly closing: AbortSignal = this.#closing.signal;
  readonly #contact: OpenOnce<void> = new OpenOnce(() => this.#makeContact());
  #policy: RetryPolicy;
  #hasContact = false;
  #holder: LeaseHolder | undefined;

  constructor(log: ThreadLog, options: CheckpointerOptions) {
    assertDurability(options.durability);
    assertAccess(options.access);
    // Every waiting call adds a listener.
    setMaxListeners(0, this.#closing.signal);
    this.access = options.access ?? "write";
    const allowed = this.access === "read" ? new ReadOnlyLog(log) : log;
    this.log = options.sealing?.over(allowed) ?? allowed;
    this.schema = options.stateSchema;
    this.now = options.now ?? Date.now;
    this.redactor = options.redact;
    this.warm = new WarmThreads(checkedCache(options.cacheBytes ?? (options.sealing === undefined ? CACHE_BYTES : 0)));
    this.#policyOnceReached = policyFor(options.retry ?? {}, true);
    this.#policy = policyFor(options.retry ?? {}, false);
    this.#wanted = options.durability;
    if (!this.log.capabilities.connects) warnOfWeaker(log, options.durability);
  }

  /** `failed` is called for every attempt that fails, also for those that are retried. */
  call<T>(place: CallPlace, work: (log: ThreadLog) => Promise<T>, failed?: (error: unknown) => void): Promise<T> {
    const contact = this.#hasContact ? undefined : this.#firstContact(place);
    const pause = endOfLongTurn();
    // Nearly every call has nothing to wait for and nothing to learn: a function less waits for its answer.
    if (contact === undefined && pause === undefined && this.#policy === this.#policyOnceReached) {
      return callDriver(this.log, this.#policy, place, work, this.closing, failed);
    }
    return this.#callAfter(contact, pause, place, work, failed);
  }

  async #callAfter<T>(
    contact: Promise<void> | undefined,
    pause: Promise<void> | undefined,
    place: CallPlace,
    work: (log: ThreadLog) => Promise<T>,
    failed: ((error: unknown) => void) | undefined,
  ): Promise<T> {
    await contact;
    await pause;
    const answer = await callDriver(this.log, this.#policy, place, work, this.closing, failed);
    this.#policy = this.#policyOnceReached;
    return answer;
  }

  /** Ends everything that waits: pauses between attempts, watches, indexing. */
  beginClosing(): void {
    this.#closing.abort(new StateError("CLOSED", "the checkpointer was closed meanwhile"));
  }

  assertOpen(operation: string): void {
    if (!this.closing.aborted) return;
    const { name } = this.log;
    const message = `${name}: ${operation} after close(); open the checkpointer again`;
    throw new StateError("CLOSED", message, { backend: name });
  }

  /** Called first by everything that writes: with read access nothing is read or waited for. */
  assertMayWrite(operation: string): void {
    this.assertOpen(operation);
    if (this.access === "read") throw asStateError(this.log, { operation }, readOnlyAccess());
  }

  /**
   * Connects the driver once. After a failure the next caller tries again.
   * `undefined` if there is nothing to wait for.
   */
  connect(place: CallPlace): Promise<void> | undefined {
    return this.#hasContact ? undefined : this.#firstContact(place);
  }

  async #firstContact(place: CallPlace): Promise<void> {
    try {
      await this.#contact.get();
    } catch (error) {
      throw asStateError(this.log, place, error);
    }
  }

  async #makeContact(): Promise<void> {
    await retrying(this.log, this.#policy, (log) => log.connect(), this.closing);
    this.#hasContact = true;
    if (!this.log.capabilities.connects) return;
    this.#policy = this.#policyOnceReached;
    warnOfWeaker(this.log, this.#wanted);
  }

  /** Adds the place to any StateError from `work` that does not name one. */
  async guard<T>(place: CallPlace, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.placed(place, error);
    }
  }

  /** An error with its place, if it is a StateError that does not name one. */
  placed(place: CallPlace, error: unknown): unknown {
    return StateError.is(error) ? asStateError(this.log, place, error) : error;
  }

  /** The process that holds this checkpointer's leases. */
  get holder(): LeaseHolder {
    this.#holder ??= thisProcess();
    return this.#holder;
  }

  /** For tests that simulate several processes in one. */
  set holder(holder: LeaseHolder) {
    this.#holder = holder;
  }

  /** The storage's clock, which all lease holders share. */
  storageNow(): Promise<number> {
    return this.call({ operation: "now" }, async (log) => (log.capabilities.clock ? log.now() : this.now()));
  }
}

function checkedCache(bytes: number): number {
  if (typeof bytes === "number" && bytes >= 0) return bytes;
  throw new StateError("INVALID_ARGUMENT", "cacheBytes must be a number of bytes, 0 or greater");
}

const contexts = new WeakMap<object, CheckpointContext>();

/** The context of a new checkpointer. */
export function openContext(owner: object, log: ThreadLog, options: CheckpointerOptions): CheckpointContext {
  const context = new CheckpointContext(log, options);
  contexts.set(owner, context);
  return context;
}

/** The context of a checkpointer, for another facet on the same storage. */
export function shareContext(owner: object, context: CheckpointContext): CheckpointContext {
  contexts.set(owner, context);
  return context;
}

/**
 * The inside of a checkpointer, for other parts of the package that use its log,
 * such as the HTTP service. Not exported from the package. `undefined` for a
 * checkpointer without a log.
 */
export const contextOf = (checkpointer: object): CheckpointContext | undefined => contexts.get(checkpointer);

/** Clocks drift and machines sleep, so an older measurement is repeated. */
const GOOD_FOR_MS = 60_000;

/**
 * The storage's clock without asking for it each time: measured once, then advanced
 * with this machine's monotonic clock, which cannot be set. It is never ahead of the
 * storage's own, so that a lease is not taken too early.
 */
export class StorageClock {
  readonly #context: CheckpointContext;
  #measured: { readonly storage: number; readonly at: number } | undefined;
  #measuring: Promise<void> | undefined;

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  /** Await this before the first `now()`. Asks the storage at most once a minute. */
  async ready(): Promise<void> {
    if (!this.#context.log.capabilities.clock) return;
    if (this.#measured !== undefined && performance.now() - this.#measured.at < GOOD_FOR_MS) return;
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    await this.#measuring;
  }

  now(): number {
    if (this.#measured === undefined) return this.#context.now();
    const { storage, at } = this.#measured;
    const past = performance.now() - at;
    if (past >= GOOD_FOR_MS) void this.ready().catch(() => undefined);
    return storage + past;
  }

  async #measure(): Promise<void> {
    const storage = await this.#context.storageNow();
    this.#measured = { storage, at: performance.now() };
  }
}
