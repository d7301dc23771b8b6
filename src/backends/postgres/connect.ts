import { type Access, assertAccess } from "../../driver/access.ts";
import { SharedConnection } from "../../driver/connection.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertAddress } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { PostgresHandle } from "./handle.ts";

/** The part of a `pg` pool that is used here. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  end(): Promise<void>;
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  release(failure?: Error | boolean): void;
}

/** Never with a `name`: a prepared statement belongs to a session, and a pooler between us and the server has its own. */
export interface PostgresQuery {
  text: string;
  values?: unknown[];
  types?: { getTypeParser(): (value: string) => string };
}

export type PostgresSource = { readonly dsn: string } | { readonly pool: PostgresPool };

export interface PostgresqlConnectionOptions {
  /** `postgres://user:password@host:5432/database`, with whatever else `pg` understands in it. */
  readonly dsn?: string;
  /** A `pg` pool of your own instead. It stays yours: its settings are left as they are, and `close()` leaves it open. */
  readonly pool?: PostgresPool;
  /** How many connections a `dsn` may hold at once. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection of a `dsn`. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
  /** `"read"` makes every transaction read-only, and neither creates nor migrates a table. @default "write" */
  readonly access?: Access;
}

/** The options of a connection, each with its kind. */
export const CONNECTION_OPTIONS = {
  dsn: "string",
  pool: "object",
  maxConnections: "number",
  connectTimeoutMs: "number",
  statementTimeoutMs: "number",
  access: "string",
} as const;

/** The options, checked, with the defaults filled in. */
export interface ConnectionSettings {
  readonly source: PostgresSource;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly access: Access;
}

/** One pool for everything that is kept in one database. It is opened at the first use, and closed with the last who holds it. */
export class PostgresqlConnection extends SharedConnection<PostgresHandle> {
  /** Where it cannot be printed: it holds the password. */
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

  /** Texts that no error may show. */
  get secrets(): readonly string[] {
    return secretsOf(this.#settings.source);
  }
}

/**
 * A pool that several share, such as `postgresqlCheckpointer({ connection })`.
 * Each is closed by itself, and the last one closes the pool.
 */
export function postgresqlConnection(options: PostgresqlConnectionOptions): PostgresqlConnection {
  assertOptions("postgresqlConnection", options, CONNECTION_OPTIONS, {});
  return connectionOf("postgresqlConnection", options);
}

/** `taker` is who was given the options. */
export function connectionOf(taker: string, given: PostgresqlConnectionOptions): PostgresqlConnection {
  const { maxConnections = 10, connectTimeoutMs = 10_000, statementTimeoutMs = 30_000, access = "write" } = given;
  assertAccess(access);
  for (const [name, value] of Object.entries({ maxConnections, connectTimeoutMs, statementTimeoutMs })) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new StateError("INVALID_ARGUMENT", `${name} must be a whole number greater than 0`);
  }
  const source = sourceOf(taker, given);
  return new PostgresqlConnection({ source, maxConnections, connectTimeoutMs, statementTimeoutMs, access });
}

function sourceOf(taker: string, { dsn, pool }: PostgresqlConnectionOptions): PostgresSource {
  if ((dsn === undefined) === (pool === undefined)) {
    const also = taker === "postgresqlConnection" ? "" : ", or a connection";
    throw new StateError("INVALID_ARGUMENT", `${taker}() takes either a dsn or a pool${also}`);
  }
  if (pool !== undefined) return { pool };
  assertDsn(dsn ?? "");
  return { dsn: dsn ?? "" };
}

/** The password, as it is and as it stands in the URL. */
function secretsOf(source: PostgresSource): readonly string[] {
  if ("dsn" in source) {
    const given = /^[^:]+:\/\/[^:/?#]*:([^/?#]*)@/.exec(source.dsn)?.[1] ?? "";
    const named = new URLSearchParams(source.dsn.split("?")[1] ?? "").get("password") ?? "";
    return [...new Set([given, decoded(given), named])].filter((secret) => secret !== "");
  }
  const password = poolOptions(source.pool)?.["password"];
  return typeof password === "string" && password !== "" ? [password] : [];
}

/** A pool keeps its password where spreading does not find it. */
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
  // The text itself is not repeated: what is not understood may hold a password anywhere.
  if (!/^postgres(ql)?:\/\//.test(dsn)) {
    throw new StateError("INVALID_ARGUMENT", "dsn must look like postgres://user:password@host:5432/database");
  }
  assertAddress(dsn);
}
