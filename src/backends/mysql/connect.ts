import type { Access } from "../../driver/access.ts";
import {
  assertDsnOrPool,
  POOL_BOUNDS,
  type PoolBounds,
  poolBounds,
  SharedConnection,
} from "../../driver/connection.ts";
import { assertOptions, invalid } from "../../driver/options.ts";
import { assertAddress, assertParameters } from "../../driver/url.ts";
import type { MysqlHandle } from "./handle.ts";

/** The part of a `mysql2` pool that is used here: of one with callbacks, or of one of `mysql2/promise`. */
export interface MysqlPool {
  promise?(): MysqlPool;
  getConnection(): Promise<MysqlSession>;
  end(): Promise<void>;
}

export interface MysqlSession {
  /** The client's own connection. */
  readonly connection: {
    readonly stream?: { ref?(): unknown; unref?(): unknown; destroy?(): unknown };
    listenerCount(event: "error"): number;
    on(event: "error", listener: (error: unknown) => void): unknown;
  };
  query(statement: object): Promise<[unknown, unknown]>;
  execute(statement: object): Promise<[unknown, unknown]>;
  release(): void;
  destroy(): void;
}

export interface MysqlConnectionOptions {
  /** `mysql://user:password@host:3306/database`, with `ssl-mode` and `ssl-ca` as the server's own programs take them. */
  readonly dsn?: string;
  /** Your own `mysql2` pool instead. It stays yours: its settings are not changed, and `close()` leaves it open. */
  readonly pool?: object;
  /** The most connections that a pool made from a `dsn` opens. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
  /** `"read"` makes every statement read-only, and creates no table. @default "write" */
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
  readonly source: { readonly dsn: string } | { readonly pool: MysqlPool };
}

/** One pool for everything that is kept in one database. Opened on first use; closed when its last holder closes. */
export class MysqlConnection extends SharedConnection<MysqlHandle> {
  /** Private, so that printing the connection shows no password. */
  readonly #settings: ConnectionSettings;

  constructor(settings: ConnectionSettings) {
    super({
      open: async () => (await import("./handle.ts")).MysqlHandle.open(settings),
      close: (handle) => handle.close(),
    });
    this.#settings = settings;
  }

  get access(): Access {
    return this.#settings.access;
  }

  /** The password, plain and as it is encoded in the URL: it must appear in no error. */
  get secrets(): readonly string[] {
    const { source } = this.#settings;
    const [, given = ""] = "dsn" in source ? (/^[^:]+:\/\/[^:/?#]*:([^/?#]*)@/.exec(source.dsn) ?? []) : [];
    return given === "" ? [] : [...new Set([given, decodeURIComponent(given)])];
  }
}

/**
 * A pool that several facets share, such as `mysqlCheckpointer({ connection })`.
 * Each facet is closed separately, and the last one to close also closes the pool.
 */
export function mysqlConnection(options: MysqlConnectionOptions): MysqlConnection {
  assertOptions("mysqlConnection", options, CONNECTION_OPTIONS, {});
  return connectionOf("mysqlConnection", options);
}

/** `taker` names the function that was given the options. */
export function connectionOf(taker: string, given: MysqlConnectionOptions): MysqlConnection {
  const { dsn, pool } = given;
  assertDsnOrPool(taker, "mysqlConnection", given);
  const bounds = poolBounds(given);
  if (pool === undefined) return new MysqlConnection({ source: { dsn: parseMysqlUrl(dsn ?? "").dsn }, ...bounds });
  const { getConnection, promise } = pool as Partial<MysqlPool>;
  if (typeof getConnection !== "function")
    throw invalid(`${taker}(): pool must be what createPool() of mysql2 returned`);
  const source = { pool: typeof promise === "function" ? promise.call(pool) : (pool as MysqlPool) };
  return new MysqlConnection({ source, ...bounds });
}

const OWN_PARAMETERS = ["tablePrefix"];
const TLS_PARAMETERS = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"];

/** `mysql://user:password@host:3306/database`; `?tablePrefix=` is ours, the parameters of TLS are the server's. */
export function parseMysqlUrl(url: string): { readonly dsn: string; readonly tablePrefix?: string } {
  // The text is not repeated in the error: a malformed DSN may hold a password anywhere.
  if (!/^(mysql|mariadb):\/\//.test(url)) throw invalid("dsn must look like mysql://user:password@host:3306/database");
  assertAddress(url);
  const { pathname, searchParams } = new URL(url);
  if (pathname.length < 2) throw invalid("the URL names no database: mysql://user:password@host:3306/database");
  assertParameters(url, Object.fromEntries(searchParams), [...OWN_PARAMETERS, ...TLS_PARAMETERS]);
  const tablePrefix = searchParams.get("tablePrefix");
  return { dsn: url, ...(tablePrefix !== null && { tablePrefix }) };
}
