import { type Access, assertAccess } from "../../driver/access.ts";
import { SharedConnection } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { type GivenClient, givenClient, libraryOf } from "./given-client.ts";
import type { IoredisClient } from "./ioredis.ts";
import type { Link } from "./link.ts";
import type { NodeRedisClient, NodeRedisCluster } from "./node-redis.ts";
import type { Waiting } from "./port.ts";
import { type Place, parseUrl } from "./url.ts";

/** A client of `ioredis` (`Redis`, `Cluster`) or of `redis` (`createClient`, `createCluster`). */
export type RedisClient = IoredisClient | NodeRedisClient | NodeRedisCluster;

export type RedisLibrary = "ioredis" | "redis";

export interface RedisConnectionOptions {
  /**
   * `redis://user:password@host:6379/0`, `rediss://` for TLS, `valkey://` and
   * `valkeys://`. Any node of a cluster will do. @default "redis://127.0.0.1:6379"
   */
  readonly url?: string;
  /**
   * Your own client instead: `Redis` or `Cluster` of `ioredis`, `createClient()` or
   * `createCluster()` of `redis`. It stays yours: `close()` leaves it open.
   */
  readonly client?: RedisClient;
  /** Which package opens the URL if both are installed. @default the installed one, "ioredis" first */
  readonly library?: RedisLibrary;
  /** How long one attempt waits for a connection. A closed port fails at once. @default 2000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for an answer. @default 5000 */
  readonly commandTimeoutMs?: number;
  /** `"read"` sends no command that writes: nothing is indexed or cleaned up. @default "write" */
  readonly access?: Access;
}

/** The options of a connection, each with its kind. */
export const CONNECTION_OPTIONS = {
  url: "string",
  client: "object",
  library: "string",
  connectTimeoutMs: "number",
  commandTimeoutMs: "number",
  access: "string",
} as const;

/** The options, checked, with the defaults filled in. */
export interface ConnectionSettings extends Waiting {
  readonly place: Place;
  /** The client that was handed in, instead of a place. It stays open. */
  readonly client: RedisClient | undefined;
  readonly library: RedisLibrary | undefined;
  readonly access: Access;
}

/** One client for everything that is kept in one server or cluster. Connects on first use; closed when its last holder closes. */
export class RedisConnection extends SharedConnection<Link> {
  readonly access: Access;
  /** Private, so that printing the connection does not show it. */
  readonly #password: string | undefined;

  constructor(settings: ConnectionSettings) {
    const { client, place } = settings;
    let given: GivenClient | undefined;
    super({
      // From now on a handed-in client has an error listener: an unhandled "error" event would end the process.
      held: () => {
        const listened = client && givenClient(client);
        given = listened;
        return () => listened?.listening.stop();
      },
      open: async () => (await import("./link.ts")).Link.over(settings, given),
      close: (link) => link.close(),
    });
    this.access = settings.access;
    this.#password = place.password;
  }

  /** Texts that must appear in no error. */
  get secrets(): readonly string[] {
    return this.#password === undefined ? [] : [this.#password];
  }
}

/**
 * A client that several facets share, such as `redisCheckpointer({ connection })`.
 * Each facet is closed separately, and the last one to close also closes the client.
 */
export function redisConnection(options: RedisConnectionOptions = {}): RedisConnection {
  const factory = "redisConnection";
  assertOptions(factory, options, CONNECTION_OPTIONS, {});
  const { url } = options;
  if (url !== undefined) assertParameters(url, parseUrl(url).parameters, []);
  return connectionOf(factory, options);
}

/** `taker` names the function that was given the options. */
export function connectionOf(taker: string, options: RedisConnectionOptions): RedisConnection {
  const { url = "redis://127.0.0.1:6379", client, library } = options;
  const { connectTimeoutMs = 2000, commandTimeoutMs = 5000, access = "write" } = options;
  assertAccess(access);
  const invalid = (fault: string): StateError => new StateError("INVALID_ARGUMENT", `${taker}(): ${fault}`);
  if (client !== undefined && options.url !== undefined) throw invalid("takes a url or a client, not both");
  if (library !== undefined && library !== "ioredis" && library !== "redis") {
    throw invalid('library must be "ioredis" or "redis"');
  }
  for (const [name, value] of Object.entries({ connectTimeoutMs, commandTimeoutMs })) {
    if (!(Number.isFinite(value) && value > 0)) throw invalid(`${name} must be a number greater than 0`);
  }
  if (client !== undefined) libraryOf(client);
  const { place } = parseUrl(url);
  return new RedisConnection({ place, client, library, access, connectTimeoutMs, commandTimeoutMs });
}
