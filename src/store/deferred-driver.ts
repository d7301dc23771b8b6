import type { Lease } from "../driver/connection.ts";
import { NOT_SCRUBBED, type ScrubReport } from "../driver/driver.ts";
import { OpenOnce } from "../driver/open-once.ts";
import type { ErrorCode } from "../errors.ts";
import type { StoreDriver, StoreDriverCapabilities } from "./store-driver.ts";

/** A driver as it is known before its code is loaded. */
export interface StoreDriverFacts {
  readonly name: string;
  /** As the driver itself says until it made contact. */
  readonly capabilities: StoreDriverCapabilities;
  /** Whether it has to make contact before it knows its capabilities. */
  readonly connects: boolean;
}

/** A driver that can be searched both ways, as all in this package can be. */
export type FullStoreDriver = StoreDriver &
  Required<Pick<StoreDriver, "searchText" | "searchVector" | "readVector" | "dimension">>;

/**
 * A driver whose code is imported when it is first used, so that a program that
 * names a factory does not load its driver. Options are checked before.
 */
export class DeferredStoreDriver implements FullStoreDriver {
  readonly name: string;
  connect?: () => Promise<void>;
  readonly #facts: StoreDriverFacts;
  readonly #held: Lease<void> | undefined;
  readonly #loading: OpenOnce<FullStoreDriver>;
  #loaded: FullStoreDriver | undefined;
  #isConnected = false;
  #isClosed = false;

  /** `held` keeps a connection open that the driver may share with others, also while it is not loaded. It ends with `close`. */
  constructor(facts: StoreDriverFacts, load: () => Promise<FullStoreDriver>, held?: Lease<void>) {
    this.name = facts.name;
    this.#held = held;
    this.#facts = facts;
    this.#loading = new OpenOnce(async () => {
      const driver = await load();
      // After `close`, the driver itself refuses the call.
      if (this.#isClosed) await driver.close();
      this.#loaded = driver;
      return driver;
    });
    if (facts.connects) {
      this.connect = async () => {
        await (await this.#loading.get()).connect?.();
        this.#isConnected = true;
      };
    }
  }

  /** The driver itself, for what only one backend has. */
  driver(): Promise<FullStoreDriver> {
    return this.#loading.get();
  }

  get capabilities(): StoreDriverCapabilities {
    const isKnown = this.#isConnected || !this.#facts.connects;
    return (isKnown ? this.#loaded?.capabilities : undefined) ?? this.#facts.capabilities;
  }

  /** Nothing was sent before the driver was loaded, so no error can contain a secret. */
  get secrets(): readonly string[] {
    return this.#loaded?.secrets ?? [];
  }

  readonly write: FullStoreDriver["write"] = (...given) => this.#ask((driver) => driver.write(...given));
  readonly read: FullStoreDriver["read"] = (...given) => this.#ask((driver) => driver.read(...given));
  readonly scan: FullStoreDriver["scan"] = (...given) => this.#ask((driver) => driver.scan(...given));
  readonly namespaces: FullStoreDriver["namespaces"] = (...given) => this.#ask((driver) => driver.namespaces(...given));
  readonly clear: FullStoreDriver["clear"] = (...given) => this.#ask((driver) => driver.clear(...given));
  readonly now: FullStoreDriver["now"] = (...given) => this.#ask((driver) => driver.now(...given));
  readonly searchText: FullStoreDriver["searchText"] = (...given) => this.#ask((driver) => driver.searchText(...given));
  readonly searchVector: FullStoreDriver["searchVector"] = (...given) =>
    this.#ask((driver) => driver.searchVector(...given));
  readonly readVector: FullStoreDriver["readVector"] = (...given) => this.#ask((driver) => driver.readVector(...given));
  readonly dimension: FullStoreDriver["dimension"] = (...given) => this.#ask((driver) => driver.dimension(...given));

  scrub(): Promise<ScrubReport> {
    return this.#ask(async (driver) => (await driver.scrub?.()) ?? NOT_SCRUBBED);
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#loaded?.classify(error);
  }

  /** Closing does not load a driver that was never used. */
  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      await (await this.#loading.opened())?.close();
    } finally {
      await this.#held?.release();
    }
  }

  /** Synchronous once the driver is loaded. */
  #ask<T>(call: (driver: FullStoreDriver) => Promise<T>): Promise<T> {
    return this.#loaded === undefined ? this.#loading.get().then(call) : call(this.#loaded);
  }
}
