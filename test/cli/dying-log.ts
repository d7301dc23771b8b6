import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";

/** Counts the calls that a command makes of its stores, and dies at one of them. */
export class Death {
  calls = 0;
  readonly #at: number;
  readonly #when: "before" | "after";

  /** `after`: the storage carried the call out, and its answer was lost. */
  constructor(at: number, when: "before" | "after") {
    this.#at = at;
    this.#when = when;
  }

  get isDead(): boolean {
    return this.calls >= this.#at;
  }

  /** The log as the process that dies has it. Nothing reaches the storage any more once it is dead. */
  around(log: ThreadLog): ThreadLog {
    const operations: readonly string[] = [
      "append",
      "readRecords",
      "tail",
      "list",
      "listThreads",
      "remove",
      "readTail",
      "entry",
    ];
    return new Proxy(log, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (!operations.includes(String(name))) return value.bind(target);
        return async (...given: unknown[]) => {
          this.calls++;
          if (this.calls > this.#at || (this.calls === this.#at && this.#when === "before")) throw new Error("killed");
          const answer: unknown = await value.apply(target, given);
          if (this.calls === this.#at) throw new Error("killed");
          return answer;
        };
      },
    });
  }
}
