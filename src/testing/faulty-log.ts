import { setTimeout as sleep } from "node:timers/promises";
import { LogLayer } from "../checkpoint/log/log-layer.ts";
import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
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
  | "listThreads"
  | "search"
  | "catchUp"
  | "queryMetadata"
  | "now";

/**
 * Any driver, with failures: for proofs of the form "fail the n-th call, for
 * n = 1, 2, 3 … until the scenario passes untouched". It counts every call, so
 * it also shows what an operation costs in round trips.
 */
export class FaultyLog extends LogLayer {
  /** The methods that were called, in order. */
  readonly calls: string[] = [];
  override readonly append: ThreadLog["append"] = this.#through("append");
  override readonly readTail: ThreadLog["readTail"] = this.#through("readTail");
  override readonly readCheckpoint: ThreadLog["readCheckpoint"] = this.#through("readCheckpoint");
  override readonly readRecords: ThreadLog["readRecords"] = this.#through("readRecords");
  override readonly entry: ThreadLog["entry"] = this.#through("entry");
  override readonly tail: ThreadLog["tail"] = this.#through("tail");
  override readonly list: ThreadLog["list"] = this.#through("list");
  override readonly remove: ThreadLog["remove"] = this.#through("remove");
  override readonly copy: ThreadLog["copy"] = this.#through("copy");
  override readonly listThreads: ThreadLog["listThreads"] = this.#through("listThreads");
  override readonly search: ThreadLog["search"] = this.#through("search");
  override readonly catchUp: ThreadLog["catchUp"] = this.#through("catchUp");
  override readonly queryMetadata: ThreadLog["queryMetadata"] = this.#through("queryMetadata");
  override readonly now: ThreadLog["now"] = this.#through("now");
  readonly #options: FaultyLogOptions;

  constructor(log: ThreadLog, options: FaultyLogOptions = {}) {
    super(log);
    this.#options = options;
  }

  override classify(error: unknown): ErrorCode | undefined {
    return error instanceof InjectedFault ? error.code : super.classify(error);
  }

  /** A fault of ours says nothing of what the storage did. */
  override declined(error: unknown): boolean {
    return !(error instanceof InjectedFault) && super.declined(error);
  }

  #through<Name extends Method>(method: Name): ThreadLog[Name] {
    const call = (...args: unknown[]): Promise<unknown> =>
      this.#meet(method, () => (this.below[method] as (...args: unknown[]) => Promise<unknown>)(...args));
    return call as ThreadLog[Name];
  }

  async #meet<T>(method: Method, work: () => Promise<T>): Promise<T> {
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
