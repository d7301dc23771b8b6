import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { MemoryStoreDriver } from "./store-driver.ts";

export interface InMemoryStoreOptions extends StoreOptions {
  /** The clock for timestamps and expiry. @default Date.now */
  readonly now?: () => number;
}

/** Keeps items in this process only: for tests and experiments. */
export class InMemoryStore extends Store {
  constructor(options: InMemoryStoreOptions = {}) {
    assertStoreOptions("InMemoryStore", options, { now: "function" });
    super(new MemoryStoreDriver(options), options);
  }
}

/** `memory:` */
export function openStoreUrl(url: string, options: StoreOptions = {}): Store {
  assertParameters(url, parseLocalUrl(url).parameters, []);
  return new InMemoryStore(options);
}
