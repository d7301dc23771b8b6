import type { LogSealing } from "../checkpoint/context.ts";
import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import type { StoreDriver } from "../store/driver/store-driver.ts";
import type { StoreSealing } from "../store/items/store-access.ts";
import { Keyring } from "./keys/keyring.ts";
import { SealedLog } from "./sealed-log.ts";
import { SealedStoreDriver } from "./sealed-store-driver.ts";

export interface SealingOptions {
  /** An open keyring, or a function that opens it at the first use. */
  readonly keyring: Keyring | (() => Promise<Keyring>);
  /**
   * The tenant whose key seals what is not about a person. A function is called with
   * the id of each thread, and with the first segment of each namespace, for a
   * storage that several tenants share. @default ""
   */
  readonly tenant?: string | ((name: string) => string);
  /**
   * For checkpointers. "sealed": nothing can be read in the storage; searches and
   * queries by metadata read every thread. "plain": words and metadata that are not
   * about a person are stored unsealed: an index finds them, and anyone with access to
   * the storage can read them. What is about people is in no index. @default "sealed"
   */
  readonly index?: "sealed" | "plain";
  /**
   * For stores. "sealed": there is no search by meaning, and a vector is refused.
   * "plain": vectors are stored unsealed, also those about people: they reveal what
   * they were made from, and destroying a key does not change that. @default "sealed"
   */
  readonly vectors?: "sealed" | "plain";
}

/** For the option `sealing` of checkpointers and stores: everything they write is sealed, and unsealed data is refused. */
export class Sealing implements LogSealing, StoreSealing {
  readonly keyring: () => Promise<Keyring>;
  readonly #tenantOf: (threadId: string) => string;
  readonly #isIndexPlain: boolean;
  readonly #areVectorsPlain: boolean;

  constructor(options: SealingOptions) {
    const names = { keyring: true, tenant: true, index: true, vectors: true } as const;
    const { keyring, tenant = "", index = "sealed", vectors = "sealed" } = optionsOf("new Sealing", options, names);
    if (!(keyring instanceof Keyring) && typeof keyring !== "function") {
      throw new TypeError("new Sealing({ keyring }) takes a Keyring, or a function that opens one");
    }
    if (index !== "sealed" && index !== "plain") throw invalid('index must be "sealed" or "plain"');
    if (vectors !== "sealed" && vectors !== "plain") throw invalid('vectors must be "sealed" or "plain"');
    if (typeof tenant !== "string" && typeof tenant !== "function") {
      throw invalid("tenant must be a text, or a function that tells the tenant of a thread's id");
    }
    this.keyring = typeof keyring === "function" ? keyring : async () => keyring;
    this.#tenantOf = typeof tenant === "function" ? tenant : () => tenant;
    this.#isIndexPlain = index === "plain";
    this.#areVectorsPlain = vectors === "plain";
  }

  over(log: ThreadLog): ThreadLog {
    return new SealedLog(log, { keyring: this.keyring, tenantOf: this.#tenantOf, isIndexPlain: this.#isIndexPlain });
  }

  overStore(driver: StoreDriver): StoreDriver {
    return new SealedStoreDriver(driver, {
      keyring: this.keyring,
      tenantOf: ([first = ""]) => this.#tenantOf(first),
      areVectorsPlain: this.#areVectorsPlain,
    });
  }
}

/** The keyring of what is sealed; `undefined` where nothing is. */
export const keyringOf = (part: object | undefined): (() => Promise<Keyring>) | undefined =>
  part instanceof SealedLog || part instanceof SealedStoreDriver ? part.keyring : undefined;
