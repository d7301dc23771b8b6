import type { Access } from "../../driver/access.ts";
import {
  assertDsnOrPool,
  POOL_BOUNDS,
  type PoolBounds,
  poolBounds,
  SharedConnection,
} from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertAddress } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { PostgresHandle } from "./handle.ts";

/** The part of a `pg` pool that is used here. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "acquire", listener: (client: PostgresClient) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "acquire", listener: (client: PostgresClient) => void): unknown;
  end(): Promise<void>;
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(failure?: Error | boolean): void;
}

/** Without a `name`: a prepared statement belongs to a session, and behind a pooler the sessions change. See bounded-query.ts. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
  types?: { getTypeParser(): (value: string) => string };
}

export type PostgresSource = { readonly dsn: string } | { readonly pool: PostgresPool };

export interface PostgresqlConnectionOptions {
  /** `postgres://user:password@host:5432/database`, with any further parameters that `pg` understands. */
  readonly dsn?: string;
  /** Your own `pg` pool instead. It stays yours: its settings are not changed, and `close()` leaves it open. */
  readonly pool?: PostgresPool;
  /** The most connections that a pool made from a `dsn` opens. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection when a `dsn` was given. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
  /** `"read"` makes every transaction read-only, and neither creates nor migrates a table. @default "write" */
  readonly access?: Access;
}

/** The options of a connection, each with its kind. */
export const CONNECTION_OPTIONS: typeof POOL_BOUNDS & { readonly dsn: "string"; readonly pool: "object" } = {
  dsn: "string",
  pool: "object",
  ...POOL_BOUNDS,
};

/** The options, checked, with the defaults filled in. */
export interface ConnectionSettings extends PoolBounds {
  readonly source: PostgresSource;
}

/** One pool for everything that is kept in one database. Opened on first use; closed when its last holder closes. */
export class PostgresqlConnection extends SharedConnection<PostgresHandle> {
  /** Private, so that printing the connection shows no password. */
  readonly #settings: ConnectionSettings;

  constructor(settings: ConnectionSettings) {
    super({
      open: async () => (await import("./handle.ts")).PostgresHandle.open(settings),
      close: (handle) => handle.close(),
    });
    this.#settings = settings;
  }

  get settings(): ConnectionSettings {
    return this.#settings;
  }

  /** Texts that must appear in no error. */
  get secrets(): readonly string[] {
    return secretsOf(this.#settings.source);
  }
}

/**
 * A pool that several facets share, such as `postgresqlCheckpointer({ connection
 * })`. Each facet is closed separately, and the last one to close also closes the
 * pool.
 */
export function postgresqlConnection(options: PostgresqlConnectionOptions): PostgresqlConnection {
  assertOptions("postgresqlConnection", options, CONNECTION_OPTIONS, {});
  return connectionOf("postgresqlConnection", options);
}

/** `taker` names the function that was given the options. */
export function connectionOf(taker: string, given: PostgresqlConnectionOptions): PostgresqlConnection {
  return new PostgresqlConnection({ ...poolBounds(given), source: sourceOf(taker, given) });
}

function sourceOf(taker: string, { dsn, pool }: PostgresqlConnectionOptions): PostgresSource {
  assertDsnOrPool(taker, "postgresqlConnection", { dsn, pool });
  if (pool !== undefined) return { pool };
  assertDsn(dsn ?? "");
  return { dsn: dsn ?? "" };
}

/** The password, plain and as it is encoded in the URL. */
function secretsOf(source: PostgresSource): readonly string[] {
  if ("dsn" in source) {
    const given = /^[^:]+:\/\/[^:/?#]*:([^/?#]*)@/.exec(source.dsn)?.[1] ?? "";
    const named = new URLSearchParams(source.dsn.split("?")[1] ?? "").get("password") ?? "";
    return [...new Set([given, decoded(given), named])].filter((secret) => secret !== "");
  }
  const password = poolOptions(source.pool)?.["password"];
  return typeof password === "string" && password !== "" ? [password] : [];
}

/** A pool keeps its password in a property that is not enumerable. */
export function poolOptions(pool: PostgresPool): Readonly<Record<string, unknown>> | undefined {
  const { options } = pool as { options?: Readonly<Record<string, unknown>> };
  return options && { ...options, password: options["password"] };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function assertDsn(dsn: string): void {
  // The text is not repeated in the error: a malformed DSN may hold a password anywhere.
  if (!/^postgres(ql)?:\/\//.test(dsn)) {
    throw new StateError("INVALID_ARGUMENT", "dsn must look like postgres://user:password@host:5432/database");
  }
  assertAddress(dsn);
}
