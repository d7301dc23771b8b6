import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { RunEvent } from "../events.ts";
import type { MeasureSave } from "../telemetry/telemetry.ts";
import { GatedEvents } from "./gated-events.ts";
import { isRefused, withoutRefusedResult } from "./refused-results.ts";

/** Where a session's states go. */
export interface SessionStorage {
  /**
   * With `ends` it is the last save of the run: whatever the run holds is given back with it. `consumes`: signals whose
   * effect is in the state, and in no state that was saved before.
   */
  save(state: AgentState, ends: boolean, consumes: readonly string[]): Promise<string>;
  /** For a run that holds its thread. */
  readonly hold?: ThreadHold;
}

export interface ThreadHold {
  readonly isHeld: boolean;
  /** Whether another may have taken over since the storage last confirmed the lease. */
  readonly mayHaveRunOut: boolean;
  /** Without a sign of life for three times this, another may take over. */
  readonly renewEveryMs: number;
  /** Takes, renews or gives back without saving anything. `state` is the newest that is stored. */
  mark(state: AgentState, ends: boolean): Promise<void>;
}

interface SessionOptions {
  readonly emit?: (event: RunEvent) => void;
  /** How long a save that settles a call with effects is tried. */
  readonly saveRetryMs?: number;
}

/**
 * Long because the order of writes, outcomes and events is one machine with one state.
 *
 * The loop's whole view of storage: a state that it changes, saves that go on
 * beside the loop, and events that are shown when what they rest on is durable.
 * A step that must not go ahead before that (an effect, a result) waits for `save`.
 *
 * Every write brings the whole state as it is then, and they follow one another:
 * if a write was made, everything changed before it is durable. Saves that are
 * asked for while one is under way share the next.
 */
export class ThreadSession {
  /** Called for every attempt at a save. */
  measure: MeasureSave = () => undefined;
  readonly #storage: SessionStorage | undefined;
  readonly #saveRetryMs: number;
  readonly #events: GatedEvents;
  readonly #gathering = new Gathering();
  readonly #failed = new AbortController();
  readonly #lost = new AbortController();
  #state: AgentState;
  /**
   * The last state that needs no save. A new thread's empty state is one: it becomes a thread with its first message.
   */
  #saved: AgentState;
  /** A state whose save failed without saying whether it was written: it comes first, so that the next one finds its place. */
  #inDoubt: AgentState | undefined;
  #checkpointId: string | undefined;
  /** Signals that were taken in, in their order; and how many of them are in a state. */
  readonly #consumed: string[] = [];
  readonly #consumedIn = new WeakMap<AgentState, number>();
  #wroteAt: number = performance.now();
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #mustHold = false;
  /** The newest state with the outcome of a call with effects, or with a claim taken back, that is not saved yet. */
  #owed: AgentState | undefined;
  /** A save was tried for as long as it may be: no other one is. */
  #gaveUp = false;
  #ends = false;
  /** The last write was made. */
  #isOver = false;
  #isAbandoned = false;
  #renewal: NodeJS.Timeout | undefined;

  constructor(state: AgentState, storage: SessionStorage | undefined, options: SessionOptions = {}) {
    this.#state = state;
    this.#saved = state;
    this.#storage = storage;
    this.#saveRetryMs = options.saveRetryMs ?? 0;
    const isOpen = (): boolean => storage?.hold === undefined || storage.hold.isHeld || this.#isOver;
    this.#events = new GatedEvents(options.emit ?? (() => undefined), isOpen);
  }

  get state(): AgentState {
    return this.#state;
  }

  /** The newest state that the storage has. */
  get stored(): AgentState {
    return this.#saved;
  }

  /** For how long nothing was written. */
  get idleMs(): number {
    return performance.now() - this.#wroteAt;
  }

  get checkpointId(): string | undefined {
    return this.#checkpointId;
  }

  /** Whether something is in this state that no save has brought to the storage. */
  get isUnsaved(): boolean {
    return this.#storage !== undefined && this.#state !== this.#saved;
  }

  /** Whether it is the outcome of a call with effects, or a claim to take back: that is never given up. */
  get owesOutcome(): boolean {
    return this.#owed !== undefined || this.#inDoubt !== undefined;
  }

  /** Aborts when a save failed: work beside it would be lost. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /**
   * Aborts when another writer has the thread: work in flight must end, for it can no longer be recorded.
   */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  throwIfFailed(): void {
    this.#failed.signal.throwIfAborted();
  }

  /** `consumes`: signals whose effect the change is. They are consumed by the write that stores it. */
  change(update: (state: AgentState) => AgentState, consumes: readonly string[] = []): void {
    this.#state = update(this.#state);
    this.#consumed.push(...consumes);
    this.#consumedIn.set(this.#state, this.#consumed.length);
  }

  /** Shows an event once everything that was asked to be saved by now is durable. */
  emit(event: RunEvent): void {
    this.#events.add(event);
  }

  /** Announces that the state as it is will be saved: events from here on wait for that. Some call of `save` must follow. */
  owe(): void {
    if (this.#storage !== undefined) this.#events.owe();
  }

  /** A save is about to be requested. Call the returned function when that was done, or will not be. */
  expectSave(): () => void {
    return this.#gathering.expect();
  }

  /** Resolves when everything changed before this call is durable. With `gathers`, others who are about to ask for a save share it. */
  save(options: { readonly gathers?: boolean } = {}): Promise<void> {
    if (this.#storage === undefined) return Promise.resolve();
    this.#events.owe();
    const gathered = options.gathers === true ? () => this.#gathering.complete() : undefined;
    this.#next ??= this.#running.then(gathered).then(() => {
      this.#next = undefined;
      const write = this.#write();
      this.#running = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  /** Begins a save that is not awaited: a failure ends the run. */
  saveBeside(options: { readonly settles?: boolean; readonly gathers?: boolean } = {}): void {
    if (options.settles === true) this.#owed = this.#state;
    this.save(options).catch(() => undefined);
  }

  /** Resolves when everything that was announced is durable; throws when some of it could not be saved. */
  async durable(): Promise<void> {
    if (this.#events.isOwed) await this.save();
    await this.#running;
    this.throwIfFailed();
  }

  /** Resolves when the run is the thread's only writer: only then may it judge what another run left behind. */
  async hold(): Promise<void> {
    const hold = this.#storage?.hold;
    if (hold === undefined || hold.isHeld) return;
    this.#mustHold = true;
    await this.save();
  }

  /**
   * To be called right before an effect. The process may have slept since its last
   * save, with another run on the thread meanwhile: where the time of the lease may
   * be over, the storage is asked. Throws where the thread is another's, or that cannot be found out.
   */
  async confirmHold(): Promise<void> {
    const hold = this.#storage?.hold;
    for (let asked = 0; hold?.mayHaveRunOut === true; asked++) {
      if (asked === MOST_CONFIRMATIONS) throw leaseTooShort(hold);
      await (this.#next ?? this.#markNow(hold));
    }
    this.throwIfFailed();
  }

  /** The last save, and what the run held is given back with it. */
  async finish(): Promise<void> {
    this.#ends = true;
    try {
      await this.save();
    } finally {
      clearTimeout(this.#renewal);
    }
  }

  /** Takes a change back that a save was to bring and perhaps brought: that must reach the storage, too. */
  withdraw(update: (state: AgentState) => AgentState): void {
    this.change(update);
    if (this.#inDoubt !== undefined) this.#owed = this.#state;
  }

  /** After a failure: saves what can be saved, and leaves the thread. */
  async leave(): Promise<void> {
    if (this.#lost.signal.aborted) await this.abandon();
    else await this.finish().catch(() => undefined);
    this.#events.drop(true);
  }

  /** Writes nothing more: another run has the thread, or came first. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#ends = true;
    clearTimeout(this.#renewal);
    await this.#running;
  }

  /** Nothing of this run was seen, and nothing will be. */
  forgetEvents(): void {
    this.#events.drop(false);
  }

  /** For a lease that is held around the run: it is over when that signal aborts. */
  endWith(lost: AbortSignal): void {
    const lose = (): void => this.#fail(lost.reason);
    if (lost.aborted) lose();
    else lost.addEventListener("abort", lose, { once: true });
  }

  async #write(): Promise<void> {
    clearTimeout(this.#renewal);
    const written = this.#events.beginWrite();
    try {
      await this.#store();
      written();
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#failed.abort(error);
    if (StateError.is(error, "CONFLICT")) this.#lost.abort(error);
  }

  async #store(): Promise<void> {
    const storage = this.#storage;
    if (storage === undefined || this.#isAbandoned) return;
    const settles = this.#owed !== undefined;
    try {
      if (this.#inDoubt !== undefined && this.#inDoubt !== this.#state) {
        await this.#persist(storage, this.#inDoubt, false, settles);
      }
      if (this.#state !== this.#saved) await this.#persistNewest(storage, this.#owed);
      else await this.#markHold(storage);
      if (this.#state === this.#saved) this.#owed = undefined;
    } catch (error) {
      this.#gaveUp ||= settles;
      throw error;
    }
    this.#mustHold = false;
    this.#wroteAt = performance.now();
    this.#isOver = this.#ends;
    this.#renewLater();
  }

  /** Without results that the storage refuses, if need be: their calls must be settled. `owed`: the state that settles them. */
  async #persistNewest(storage: SessionStorage, owed: AgentState | undefined): Promise<void> {
    const isWhole = owed === this.#owed;
    const refusal = await this.#refusalOf(storage, this.#state, this.#ends, owed !== undefined);
    if (refusal === undefined) return;
    // What was said after an outcome may be what is refused: the outcome is not lost with it.
    if (owed !== undefined && owed !== this.#state && !(await this.#refusalOf(storage, owed, false, true))) {
      if (!isWhole) throw refusal;
      return this.#persistNewest(storage, undefined);
    }
    const shorter = owed && this.#shortened(owed, refusal);
    this.#state = owed === this.#state && shorter ? shorter : this.#shortened(this.#state, refusal);
    this.#events.show({ type: "warning", where: "save", error: refusal });
    await this.#persistNewest(storage, shorter);
  }

  #shortened(state: AgentState, refusal: StateError): AgentState {
    const shorter = withoutRefusedResult(state, this.#saved, refusal);
    this.#consumedIn.set(shorter, this.#countConsumed(state));
    return shorter;
  }

  #countConsumed(state: AgentState): number {
    return this.#consumedIn.get(state) ?? 0;
  }

  async #refusalOf(
    storage: SessionStorage,
    state: AgentState,
    ends: boolean,
    settles: boolean,
  ): Promise<StateError | undefined> {
    const owed = this.#owed;
    try {
      await this.#persist(storage, state, ends, settles);
      if (this.#owed === owed) this.#owed = undefined;
      return undefined;
    } catch (error) {
      if (isRefused(error)) return error;
      throw error;
    }
  }

  async #persist(storage: SessionStorage, state: AgentState, ends: boolean, settles: boolean): Promise<void> {
    const checkpointId = await this.#tried(storage, state, ends, settles);
    this.#inDoubt = undefined;
    this.#saved = state;
    this.#checkpointId = checkpointId;
    this.#events.addOfWrite({ type: "checkpoint-saved", checkpointId });
  }

  /** An outcome of a call with effects is not given up because the storage is away for a while. */
  async #tried(storage: SessionStorage, state: AgentState, ends: boolean, settles: boolean): Promise<string> {
    const consumes = this.#consumed.slice(this.#countConsumed(this.#saved), this.#countConsumed(state));
    const end = performance.now() + (settles && !this.#gaveUp ? this.#saveRetryMs : 0);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const began = performance.now();
      try {
        const checkpointId = await storage.save(state, ends, consumes);
        this.measure(performance.now() - began, undefined);
        return checkpointId;
      } catch (error) {
        this.measure(performance.now() - began, error);
        if (!StateError.is(error) || error.context.written !== "no") this.#inDoubt = state;
        const isPassing = StateError.is(error) && error.retryable;
        if (!isPassing || performance.now() + pause > end) throw error;
        this.#events.show({ type: "warning", where: "save", error });
        await sleep(pause);
      }
    }
  }

  async #markHold({ hold }: SessionStorage): Promise<void> {
    if (hold === undefined) return;
    if (!this.#ends) {
      if (this.#mustHold && !hold.isHeld) await hold.mark(this.#saved, false);
    } else if (hold.isHeld) {
      // A lease that cannot be given back ends by itself.
      await hold.mark(this.#saved, true).catch(() => undefined);
    }
  }

  #renewLater(): void {
    clearTimeout(this.#renewal);
    const hold = this.#storage?.hold;
    if (hold === undefined || !hold.isHeld || this.#ends) return;
    this.#renewal = setTimeout(() => this.#renew(hold), hold.renewEveryMs).unref();
  }

  /** Nothing was saved for a while: a sign of life, between the saves. */
  #renew(hold: ThreadHold): void {
    if (this.#next !== undefined || this.#ends) return;
    // Where the storage did not answer, the lease may yet be good; if it is not, the next save is refused.
    this.#markNow(hold).catch(() => undefined);
  }

  #markNow(hold: ThreadHold): Promise<void> {
    clearTimeout(this.#renewal);
    const marked = this.#running.then(async () => {
      if (this.#ends) return;
      await hold.mark(this.#saved, false);
      this.#wroteAt = performance.now();
    });
    this.#running = marked
      .catch((error: unknown) => {
        if (StateError.is(error, "CONFLICT")) this.#fail(error);
      })
      .then(() => this.#renewLater());
    return this.#running.then(() => marked);
  }
}

/**
 * Each takes a round trip to the storage. If none of them finds time left on the lease, it
 * is treated as lost.
 */
const MOST_CONFIRMATIONS = 5;

const leaseTooShort = ({ renewEveryMs }: ThreadHold): StateError =>
  new StateError(
    "TIMEOUT",
    `a lease of ${Math.round(3 * renewEveryMs)} ms ran out each time before the storage's confirmation arrived, so nothing was ` +
      "begun under it; set a longer lease: { ttlMs }",
    { written: "no" },
  );

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Counts the calls that are about to ask for a save. A gathering write waits for them,
 * so that the model's message and the claims of the calls it asks for are one write,
 * even where a schema, a guard or a hook takes a moment before the claim.
 */
class Gathering {
  #expected = 0;
  #onComplete: () => void = () => undefined;

  /**
   * A save is about to be requested. Call the returned function when that was done,
   * or will not be; calling it again does nothing.
   */
  expect(): () => void {
    this.#expected++;
    let isExpected = true;
    return () => {
      if (!isExpected) return;
      isExpected = false;
      this.#expected--;
      if (this.#expected === 0) this.#onComplete();
    };
  }

  /** Resolves when all expected saves were requested, or after a while: waiting longer than a write takes gains nothing. */
  async complete(): Promise<void> {
    await turn();
    if (this.#expected === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LONGEST_MS);
      this.#onComplete = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const LONGEST_MS = 50;

/** Lets everything in the same turn of the event loop come first, such as the beginning of several calls. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
