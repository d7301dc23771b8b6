import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { LONGEST_TTL_MS } from "../../checkpoint/log/driver-rules.ts";
import { connectionFor } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { CONNECTION_OPTIONS, connectionOf, RedisConnection, type RedisConnectionOptions } from "./connect.ts";
import { assertPrefix } from "./layout.ts";
import { RedisLog, type RedisLogOptions } from "./log.ts";
import { parseUrl } from "./url.ts";

export interface RedisCheckpointerOptions extends CheckpointerOptions, RedisConnectionOptions {
  /** The result of `redisConnection()`, instead of a `url` or a `client`. It may be shared. */
  readonly connection?: RedisConnection;
  /** The prefix of all key names. @default "holdfast:" */
  readonly prefix?: string;
  /** A thread expires this long after its last save. `save(…, { ttlSeconds })` overrides it for one save. @default never */
  readonly ttlSeconds?: number;
}

/** Keeps threads in Redis or Valkey, on one server or in a cluster. Needs `npm install ioredis` or `npm install redis`. */
export function redisCheckpointer(options: RedisCheckpointerOptions = {}): Checkpointer {
  assertOptions("redisCheckpointer", options, {
    ...CONNECTION_OPTIONS,
    connection: "object",
    prefix: "string",
    ttlSeconds: "number",
  });
  const checked = redisLogOptions(options);
  return new Checkpointer(new RedisLog(checked), { ...options, access: checked.connection.access });
}

/** `redis://host:6379/0?prefix=bot:&ttlSeconds=86400`. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { parameters } = parseUrl(url);
  assertParameters(url, parameters, ["prefix", "ttlSeconds"]);
  const { prefix, ttlSeconds } = parameters;
  return redisCheckpointer({
    ...options,
    url,
    ...(prefix !== undefined && { prefix }),
    ...(ttlSeconds !== undefined && { ttlSeconds: Number(ttlSeconds) }),
  });
}

const TAKER = { factory: "redisCheckpointer", opener: "redisConnection" };

/** All options of a log, with the defaults filled in. */
export function redisLogOptions(given: RedisCheckpointerOptions): RedisLogOptions {
  const { prefix = "holdfast:", ttlSeconds } = given;
  if (ttlSeconds !== undefined && !(Number.isFinite(ttlSeconds) && ttlSeconds > 0)) {
    throw new StateError("INVALID_ARGUMENT", "redisCheckpointer(): ttlSeconds must be a number greater than 0");
  }
  assertPrefix(prefix);
  const own = (options: RedisConnectionOptions): RedisConnection => connectionOf(TAKER.factory, options);
  const connection = connectionFor(TAKER, given, RedisConnection, CONNECTION_OPTIONS, own);
  const lifetimeMs = ttlSeconds === undefined ? undefined : Math.min(Math.ceil(ttlSeconds * 1000), LONGEST_TTL_MS);
  return { connection, prefix, lifetimeMs };
}
