import { LONGEST_TTL_MS } from "../../checkpoint/append-rules.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { RedisClient, RedisLibrary } from "./connect.ts";
import { FACTS } from "./facts.ts";
import { givenClient } from "./given-client.ts";
import { assertPrefix } from "./layout.ts";
import type { RedisLogOptions } from "./log.ts";
import { parseUrl } from "./url.ts";

export interface RedisCheckpointerOptions extends CheckpointerOptions {
  /**
   * `redis://user:password@host:6379/0`, `rediss://` for TLS, `valkey://` and
   * `valkeys://`. Any node of a cluster will do. @default "redis://127.0.0.1:6379"
   */
  readonly url?: string;
  /**
   * A client of your own instead: `Redis` or `Cluster` of `ioredis`,
   * `createClient()` or `createCluster()` of `redis`. It stays yours: `close()`
   * leaves it open.
   */
  readonly client?: RedisClient;
  /** Which package opens the URL, where both are installed. @default the one that is, "ioredis" first */
  readonly library?: RedisLibrary;
  /** What the names of all keys begin with. @default "holdfast:" */
  readonly prefix?: string;
  /** A thread is gone this long after its last save. `save(…, { ttlSeconds })` says otherwise for one. @default never */
  readonly ttlSeconds?: number;
  /** How long to wait for a connection, also for one that broke to come back. @default 2000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for an answer. @default 5000 */
  readonly commandTimeoutMs?: number;
}

/** Keeps threads in Redis or Valkey, on one server or in a cluster. `npm install ioredis`, or `npm install redis`. */
export function redisCheckpointer(options: RedisCheckpointerOptions = {}): Checkpointer {
  assertOptions("redisCheckpointer", options, {
    url: "string",
    client: "object",
    library: "string",
    prefix: "string",
    ttlSeconds: "number",
    connectTimeoutMs: "number",
    commandTimeoutMs: "number",
  });
  const checked = redisLogOptions(options);
  const log = new DeferredLog(FACTS, async () => new (await import("./log.ts")).RedisLog(checked));
  // It listens to a client that was handed in, so `close` must find it there. A failure shows at the first use.
  if (checked.given !== undefined) log.driver().catch(() => undefined);
  return new Checkpointer(log, options);
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

/** Everything a log needs, with the defaults filled in. */
export function redisLogOptions(options: RedisCheckpointerOptions): RedisLogOptions {
  const { url = "redis://127.0.0.1:6379", client, library, prefix = "holdfast:", ttlSeconds } = options;
  const { connectTimeoutMs = 2000, commandTimeoutMs = 5000 } = options;
  if (client !== undefined && options.url !== undefined) throw invalid("takes a url or a client, not both");
  if (library !== undefined && library !== "ioredis" && library !== "redis") {
    throw invalid('library must be "ioredis" or "redis"');
  }
  for (const [name, value] of Object.entries({ ttlSeconds, connectTimeoutMs, commandTimeoutMs })) {
    if (value !== undefined && !(Number.isFinite(value) && value > 0)) {
      throw invalid(`${name} must be a number greater than 0`);
    }
  }
  const lifetimeMs = ttlSeconds === undefined ? undefined : Math.min(Math.ceil(ttlSeconds * 1000), LONGEST_TTL_MS);
  const { place } = parseUrl(url);
  assertPrefix(prefix);
  const given = client && givenClient(client);
  return { place, given, library, prefix, lifetimeMs, connectTimeoutMs, commandTimeoutMs };
}

const invalid = (fault: string): StateError => new StateError("INVALID_ARGUMENT", `redisCheckpointer(): ${fault}`);
