import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { type ConnectionSettings, type PostgresPool, poolOptions } from "./connect.ts";

export interface PoolSettings {
  readonly dsn: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
}

/** The exports of `pg` that are used. */
interface PgModule {
  readonly default: {
    readonly Pool: new (options: object) => PostgresPool;
    readonly Client: new (options: object) => ListeningClient;
  };
}

/** A dedicated connection, for notifications. */
export interface ListeningClient {
  /** The backend's process id, as the server or a pooler reported it on connecting. */
  readonly processID?: number | null;
  connect(): Promise<unknown>;
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "notification", listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  end(): Promise<unknown>;
}

const loadPg = async (): Promise<PgModule["default"]> => (await importPeer<PgModule>("pg", "^8.11")).default;

export async function openPool({ dsn, maxConnections, connectTimeoutMs }: PoolSettings): Promise<PostgresPool> {
  const { Pool } = await loadPg();
  return new Pool({
    connectionString: dsn,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    // The process may exit while connections are idle, even without `close()`.
    allowExitOnIdle: true,
  });
}

/** A connection with the pool's settings, but outside the pool. */
export async function openListener({
  source,
  connectTimeoutMs,
  statementTimeoutMs,
}: ConnectionSettings): Promise<ListeningClient> {
  const { Client } = await loadPg();
  const like = "dsn" in source ? { connectionString: source.dsn } : poolOptions(source.pool);
  if (like === undefined) throw new StateError("UNSUPPORTED", "this pool does not say how it connects");
  const bounds = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: statementTimeoutMs };
  return new Client({ ...like, ...bounds, keepAlive: true });
}
