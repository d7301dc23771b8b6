import { ServerClock } from "../../driver/server-clock.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { KeyValueStoreDriver } from "../../store/key-value/driver.ts";
import { Store } from "../../store/store.ts";
import { parseS3Url, S3_KINDS, type S3Place, s3LogOptions } from "./checkpointer.ts";
import { s3BucketSource } from "./log.ts";

export interface S3StoreOptions extends StoreOptions, S3Place {}

/** Keeps items in a bucket of S3, R2, MinIO or another service that speaks S3's protocol. Needs `npm install @aws-sdk/client-s3`. */
export function s3Store(options: S3StoreOptions): Store {
  assertStoreOptions("s3Store", options, S3_KINDS);
  const source = s3LogOptions(options);
  const { prefix, access = "write" } = source;
  const clock = new ServerClock();
  return new Store(new KeyValueStoreDriver(s3BucketSource(source, clock), { prefix, access, clock }), options);
}

/** `s3://bucket/prefix?region=…`; `endpoint`, `forcePathStyle` and `serverDurability` may follow. Keys come from the environment. */
export const openStoreUrl = (url: string, options: StoreOptions = {}): Store =>
  s3Store({ ...options, ...parseS3Url(url) });
