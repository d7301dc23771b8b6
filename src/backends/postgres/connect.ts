import { assertAddress } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";

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

export interface PoolSettings {
  readonly dsn: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
}

/** What `pg` exports, as far as it is used. */
interface PgModule {
  readonly default: {
    readonly Pool: new (options: object) => PostgresPool;
    readonly Client: new (options: object) => ListeningClient;
  };
}

/** A connection of its own, for notifications. */
export interface ListeningClient {
  /** The server's process, as it, or what stands in between, said when the connection was made. */
  readonly processID?: number | null;
  connect(): Promise<unknown>;
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(): Promise<unknown>;
}

async function loadPg(): Promise<PgModule["default"]> {
  // A variable, so that a type check does not need a package that not every user has.
  const name = "pg";
  return (await importPeer(name, "^8.11", () => import(name) as Promise<PgModule>)).default;
}

export async function openPool({ dsn, maxConnections, connectTimeoutMs }: PoolSettings): Promise<PostgresPool> {
  const { Pool } = await loadPg();
  return new Pool({
    connectionString: dsn,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    // A program that is done may end, whether or not it closed us.
    allowExitOnIdle: true,
  });
}

/** A connection like those of the pool, but outside of it. */
export async function openListener(
  source: { readonly dsn: string } | { readonly pool: PostgresPool },
  { connectTimeoutMs, statementTimeoutMs }: { readonly connectTimeoutMs: number; readonly statementTimeoutMs: number },
): Promise<ListeningClient> {
  const { Client } = await loadPg();
  const like = "dsn" in source ? { connectionString: source.dsn } : optionsOf(source.pool);
  if (like === undefined) throw new StateError("UNSUPPORTED", "this pool does not say how it connects");
  const bounds = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: statementTimeoutMs };
  return new Client({ ...like, ...bounds, keepAlive: true });
}

/** A pool keeps its password where spreading does not find it. */
function optionsOf(pool: PostgresPool): Readonly<Record<string, unknown>> | undefined {
  const { options } = pool as { options?: Readonly<Record<string, unknown>> };
  return options && { ...options, password: options["password"] };
}

/** Texts that no error may show: the password, as it is and as it stands in the URL. */
export function secretsOf(source: { readonly dsn: string } | { readonly pool: PostgresPool }): readonly string[] {
  if ("dsn" in source) {
    const given = /^[^:]+:\/\/[^:/?#]*:([^/?#]*)@/.exec(source.dsn)?.[1] ?? "";
    const named = new URLSearchParams(source.dsn.split("?")[1] ?? "").get("password") ?? "";
    return [...new Set([given, decoded(given), named])].filter((secret) => secret !== "");
  }
  const password = optionsOf(source.pool)?.["password"];
  return typeof password === "string" && password !== "" ? [password] : [];
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
