import { asStateError } from "../../driver/call.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertParameters } from "../../driver/url.ts";
import type { StoreOptions } from "../../store/items/store-access.ts";
import { assertStoreOptions } from "../../store/items/store-options.ts";
import { Store } from "../../store/store.ts";
import { CONNECTION_OPTIONS, connectionOf, RedisConnection, type RedisConnectionOptions } from "./connect.ts";
import { assertPrefix } from "./layout.ts";
import { RedisStoreDriver, type RedisStoreDriverOptions } from "./store-driver.ts";
import { parseUrl } from "./url.ts";

export interface RedisStoreOptions extends StoreOptions, RedisConnectionOptions {
  /** The result of `redisConnection()`, instead of a `url` or a `client`. A checkpointer may share it. */
  readonly connection?: RedisConnection;
  /** The prefix of all key names. @default "holdfast:" */
  readonly prefix?: string;
}

const TAKER = { factory: "redisStore", opener: "redisConnection" };

/**
 * Keeps items in Redis or Valkey, beside threads or alone; needs no module. Needs
 * `npm install ioredis` or `npm install redis`.
 */
export function redisStore(options: RedisStoreOptions = {}): Store {
  assertStoreOptions("redisStore", options, { ...CONNECTION_OPTIONS, connection: "object", prefix: "string" });
  const checked = redisStoreOptions(options);
  return new Store(new RedisStoreDriver(checked), { ...options, access: checked.connection.access });
}

/** All options of a driver, with the defaults filled in. */
export function redisStoreOptions(given: RedisStoreOptions): RedisStoreDriverOptions {
  const { prefix = "holdfast:" } = given;
  assertPrefix(prefix);
  const own = (options: RedisConnectionOptions): RedisConnection => connectionOf(TAKER.factory, options);
  return { connection: connectionFor(TAKER, given, RedisConnection, CONNECTION_OPTIONS, own), prefix };
}

/** What `mendRedisStore` found. */
export interface MendedRedisStore {
  /** Items that are there. What else was there is lost. */
  readonly items: number;
  /** How many of them have a vector. Those of others are lost, where they had one: put these items again. */
  readonly vectors: number;
}

/**
 * Makes a store whole again that is `CORRUPT` because the server evicted, or a person deleted, some of its keys: what finds
 * items is made anew from the items that are left. Meanwhile every other call on the store is refused. It can be repeated.
 */
export async function mendRedisStore(options: RedisStoreOptions = {}): Promise<MendedRedisStore> {
  assertStoreOptions("mendRedisStore", options, { ...CONNECTION_OPTIONS, connection: "object", prefix: "string" });
  const driver = new RedisStoreDriver(redisStoreOptions(options));
  try {
    return await driver.mend();
  } catch (error) {
    throw asStateError(driver, { operation: "mendRedisStore" }, error);
  } finally {
    await driver.close();
  }
}

/** `redis://host:6379/0?prefix=bot:`. */
export function openStoreUrl(url: string, options: StoreOptions = {}): Store {
  const { parameters } = parseUrl(url);
  assertParameters(url, parameters, ["prefix"]);
  const { prefix } = parameters;
  return redisStore({ ...options, url, ...(prefix !== undefined && { prefix }) });
}
