import { setTimeout as sleep } from "node:timers/promises";
import type { LogCapabilities, ThreadLog } from "../checkpoint/log/thread-log.ts";
import type { ErrorCode } from "../errors.ts";

/** One call of a driver. */
export interface DriverCall {
  /** From 1, over all methods. */
  readonly number: number;
  readonly method: string;
}

/** What a call meets instead of its answer. */
export interface Fault {
  /** `before`: nothing happened. `after`: it happened and only the answer was lost, which the caller cannot tell apart. */
  readonly when: "before" | "after";
  /** @default "UNAVAILABLE" */
  readonly code?: ErrorCode;
}

export interface FaultyLogOptions {
  /** Asked at every call: a fault, or `undefined` to let it be. */
  readonly faultAt?: (call: DriverCall) => Fault | undefined;
  /** How long every call takes, before and after. @default 0 */
  readonly latencyMs?: number;
}

/** The failure that a `FaultyLog` makes; `classify` knows it. */
export class InjectedFault extends Error {
  override readonly name = "InjectedFault";
  readonly code: ErrorCode;

  constructor({ number, method }: DriverCall, { when, code = "UNAVAILABLE" }: Fault) {
    super(`injected ${code} ${when} the effect of call ${number}, ${method}`);
    this.code = code;
  }
}

/** A fault at the n-th call and at no other. */
export const atCall =
  (number: number, fault: Fault): ((call: DriverCall) => Fault | undefined) =>
  (call) =>
    call.number === number ? fault : undefined;

type Method =
  | "append"
  | "readTail"
  | "readCheckpoint"
  | "readRecords"
  | "entry"
  | "tail"
  | "list"
  | "remove"
  | "copy"
  | "listThreads";

/**
 * Any driver, with failures: for proofs of the form "fail the n-th call, for
 * n = 1, 2, 3 … until the scenario passes untouched". It counts every call, so
 * it also shows what an operation costs in round trips.
 */
export class FaultyLog implements ThreadLog {
  readonly name: string;
  /** The methods that were called, in order. */
  readonly calls: string[] = [];
  readonly append: ThreadLog["append"];
  readonly readTail: ThreadLog["readTail"];
  readonly readCheckpoint: ThreadLog["readCheckpoint"];
  readonly readRecords: ThreadLog["readRecords"];
  readonly entry: ThreadLog["entry"];
  readonly tail: ThreadLog["tail"];
  readonly list: ThreadLog["list"];
  readonly remove: ThreadLog["remove"];
  readonly copy: ThreadLog["copy"];
  readonly listThreads: ThreadLog["listThreads"];
  readonly search?: NonNullable<ThreadLog["search"]>;
  readonly catchUp?: NonNullable<ThreadLog["catchUp"]>;
  readonly queryMetadata?: NonNullable<ThreadLog["queryMetadata"]>;
  readonly subscribe?: NonNullable<ThreadLog["subscribe"]>;
  readonly now?: NonNullable<ThreadLog["now"]>;
  readonly connect?: NonNullable<ThreadLog["connect"]>;
  readonly declined?: NonNullable<ThreadLog["declined"]>;
  readonly #log: ThreadLog;
  readonly #options: FaultyLogOptions;

  constructor(log: ThreadLog, options: FaultyLogOptions = {}) {
    this.#log = log;
    this.#options = options;
    this.name = log.name;
    this.append = this.#through("append");
    this.readTail = this.#through("readTail");
    this.readCheckpoint = this.#through("readCheckpoint");
    this.readRecords = this.#through("readRecords");
    this.entry = this.#through("entry");
    this.tail = this.#through("tail");
    this.list = this.#through("list");
    this.remove = this.#through("remove");
    this.copy = this.#through("copy");
    this.listThreads = this.#through("listThreads");
    // What the driver lacks is lacking here too: the class above chooses its way by that.
    const { search, catchUp, queryMetadata, subscribe, now, connect, declined } = log;
    if (search) this.search = (...args) => this.#meet("search", () => search.apply(log, args));
    if (catchUp) this.catchUp = (...args) => this.#meet("catchUp", () => catchUp.apply(log, args));
    if (queryMetadata)
      this.queryMetadata = (...args) => this.#meet("queryMetadata", () => queryMetadata.apply(log, args));
    if (subscribe) this.subscribe = (...args) => subscribe.apply(log, args);
    if (now) this.now = () => this.#meet("now", () => now.apply(log));
    if (connect) this.connect = () => connect.apply(log);
    // A fault of ours says nothing of what the storage did.
    if (declined) this.declined = (error) => !(error instanceof InjectedFault) && declined.call(log, error);
  }

  get capabilities(): LogCapabilities {
    return this.#log.capabilities;
  }

  classify(error: unknown): ErrorCode | undefined {
    return error instanceof InjectedFault ? error.code : this.#log.classify(error);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #through<Name extends Method>(method: Name): ThreadLog[Name] {
    const call = (...args: unknown[]): Promise<unknown> =>
      this.#meet(method, () => (this.#log[method] as (...args: unknown[]) => Promise<unknown>)(...args));
    return call as ThreadLog[Name];
  }

  async #meet<T>(method: string, work: () => Promise<T>): Promise<T> {
    this.calls.push(method);
    const call = { number: this.calls.length, method };
    const { faultAt, latencyMs = 0 } = this.#options;
    const fault = faultAt?.(call);
    if (latencyMs > 0) await sleep(latencyMs);
    if (fault?.when === "before") throw new InjectedFault(call, fault);
    const answer = await work();
    if (latencyMs > 0) await sleep(latencyMs);
    if (fault !== undefined) throw new InjectedFault(call, fault);
    return answer;
  }
}
