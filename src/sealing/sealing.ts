import type { LogLayer } from "../checkpoint/context.ts";
import type { ThreadLog } from "../checkpoint/thread-log.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { Keyring } from "./keyring.ts";
import { SealedLog } from "./sealed-log.ts";

export interface SealingOptions {
  /** An open keyring, or a function that opens it at the first use. */
  readonly keyring: Keyring | (() => Promise<Keyring>);
  /**
   * Whose key seals what is about nobody. A function is asked with the id of each
   * thread, for a storage that several tenants share. @default ""
   */
  readonly tenant?: string | ((threadId: string) => string);
  /**
   * "sealed": nothing can be read in the storage; searches and queries by metadata
   * read every thread. "plain": words and metadata that are about nobody lie beside
   * what is sealed: an index finds them, and so does whoever reads the storage.
   * What is about people is in no index, and is not found by one. @default "sealed"
   */
  readonly index?: "sealed" | "plain";
}

/** For the option `sealing` of checkpointers: whatever they write is sealed, and whatever is not sealed is refused. */
export class Sealing implements LogLayer {
  readonly keyring: () => Promise<Keyring>;
  readonly #tenantOf: (threadId: string) => string;
  readonly #isIndexPlain: boolean;

  constructor(options: SealingOptions) {
    const names = { keyring: true, tenant: true, index: true } as const;
    const { keyring, tenant = "", index = "sealed" } = optionsOf("new Sealing", options, names);
    if (!(keyring instanceof Keyring) && typeof keyring !== "function") {
      throw new TypeError("new Sealing({ keyring }) takes a Keyring, or a function that opens one");
    }
    if (index !== "sealed" && index !== "plain") throw invalid('index must be "sealed" or "plain"');
    if (typeof tenant !== "string" && typeof tenant !== "function") {
      throw invalid("tenant must be a text, or a function that tells the tenant of a thread's id");
    }
    this.keyring = typeof keyring === "function" ? keyring : async () => keyring;
    this.#tenantOf = typeof tenant === "function" ? tenant : () => tenant;
    this.#isIndexPlain = index === "plain";
  }

  over(log: ThreadLog): ThreadLog {
    return new SealedLog(log, { keyring: this.keyring, tenantOf: this.#tenantOf, isIndexPlain: this.#isIndexPlain });
  }
}
