import { ServerClock } from "../../driver/server-clock.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { KeyValueStoreDriver } from "../../store/key-value/driver.ts";
import { Store } from "../../store/store.ts";
import { OCI_KINDS, type OciPlace, ociLogOptions, parseOciUrl } from "./checkpointer.ts";
import { ociBucketSource } from "./log.ts";

/** Without a client of your own: the dates of its answers, by which items are stamped and end, could not be seen. */
export interface OCIStoreOptions extends StoreOptions, OciPlace {}

/** Keeps items in a bucket of OCI Object Storage. Needs `npm install oci-objectstorage oci-common`. */
export function ociStore(options: OCIStoreOptions): Store {
  assertStoreOptions("ociStore", options, { ...OCI_KINDS, auth: ["string", "object"] });
  const source = ociLogOptions(options);
  const { prefix, access = "write" } = source;
  const clock = new ServerClock();
  return new Store(new KeyValueStoreDriver(ociBucketSource(source, clock), { prefix, access, clock }), options);
}

/** `oci://bucket/prefix?namespace=…&region=…`; `auth`, `profile`, `configFile`, `compartmentId` and `endpoint` may follow. */
export const openStoreUrl = (url: string, options: StoreOptions = {}): Store =>
  ociStore({ ...options, ...parseOciUrl(url) });
