import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { CONNECTION_OPTIONS, connectionOf, type HTTPConnectionOptions } from "./connect.ts";
import { readServiceUrl } from "./service-url.ts";
import { HttpStoreDriver } from "./store-driver.ts";

export interface HTTPStoreOptions extends StoreOptions, HTTPConnectionOptions {}

/** Items on another machine: a holdfast service, whatever its store. Embeddings are made in this process. */
export class HTTPStore extends Store {
  constructor(options: HTTPStoreOptions) {
    assertStoreOptions("HTTPStore", options, CONNECTION_OPTIONS);
    super(new HttpStoreDriver(connectionOf(options)), options);
  }
}

/** `https://state.example.com`, or with its token: `https://:<token>@state.example.com`. */
export const openStoreUrl = (url: string, options: StoreOptions = {}): Store =>
  new HTTPStore({ ...options, ...readServiceUrl(url) });
