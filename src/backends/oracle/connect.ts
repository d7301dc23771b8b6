import type { Access } from "../../driver/access.ts";
import {
  assertDsnOrPool,
  POOL_BOUNDS,
  type PoolBounds,
  poolBounds,
  SharedConnection,
} from "../../driver/connection.ts";
import { assertOptions, invalid } from "../../driver/options.ts";
import { assertDsn } from "./dsn.ts";
import type { OracleHandle } from "./handle.ts";

/** The part of an `oracledb` pool that is used here. */
export interface OraclePool {
  getConnection(): Promise<OracleSession>;
  close(drainSeconds?: number): Promise<void>;
}

/** A connection of the pool. */
export interface OracleSession {
  readonly oracleServerVersion: number;
  callTimeout?: number | undefined;
  execute(statement: string, binds: object, options: object): Promise<OracleResult>;
  close(options?: { drop?: boolean }): Promise<void>;
}

export interface OracleResult {
  readonly rows?: unknown[] | undefined;
  readonly outBinds?: unknown;
}

/**
 * A password, or a function that returns the current one: called on first contact,
 * and again when the server refuses the last one.
 */
export type OraclePassword = string | (() => string | Promise<string>);

export interface OracleConnectionOptions {
  /** An alias of the wallet's tnsnames.ora (`mydb_low`), or `host:1521/service`, or `(DESCRIPTION=…)`. */
  readonly dsn?: string;
  readonly user?: string;
  readonly password?: OraclePassword;
  /** The directory of an unpacked wallet: `tnsnames.ora`, and `ewallet.pem` for mutual TLS. `~` is the home directory. */
  readonly walletLocation?: string;
  /** The password of the wallet, not of the user. */
  readonly walletPassword?: string;
  /** Your own `oracledb` pool instead. It stays yours: `close()` leaves it open. */
  readonly pool?: OraclePool;
  /** The most connections that a pool made from a `dsn` opens. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection. @default 20000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
  /** `"read"` neither creates nor migrates a table: a user with SELECT is enough. @default "write" */
  readonly access?: Access;
}

const OWN_KINDS = {
  dsn: "string",
  user: "string",
  walletLocation: "string",
  walletPassword: "string",
  pool: "object",
} as const;
const KINDS: typeof OWN_KINDS & typeof POOL_BOUNDS = { ...OWN_KINDS, ...POOL_BOUNDS };

/** The options of a connection, each with its kind; a password function is checked separately. */
export const connectionKinds = (options: {
  readonly password?: unknown;
}): typeof KINDS & { readonly password: "string" | "function" } => ({
  ...KINDS,
  password: typeof options?.password === "function" ? "function" : "string",
});

export interface OracleAddress {
  readonly dsn: string;
  readonly user: string | undefined;
  readonly password: OraclePassword | undefined;
  readonly walletLocation: string | undefined;
  readonly walletPassword: string | undefined;
}

export type OracleSource = { readonly address: OracleAddress } | { readonly pool: OraclePool };

/** The options, checked, with the defaults filled in. */
export interface ConnectionSettings extends PoolBounds {
  readonly source: OracleSource;
  /** Passwords that a function returned: they must appear in no error. */
  readonly given: Set<string>;
}

/** One pool for everything that is kept in one database. Opened on first use; closed when its last holder closes. */
export class OracleConnection extends SharedConnection<OracleHandle> {
  /** Private, so that printing the connection shows no password. */
  readonly #settings: ConnectionSettings;

  constructor(settings: ConnectionSettings) {
    super({
      open: async () => (await import("./handle.ts")).OracleHandle.open(settings),
      close: (handle) => handle.close(),
    });
    this.#settings = settings;
  }

  get access(): Access {
    return this.#settings.access;
  }

  /** Texts that must appear in no error, as far as they are known so far. */
  get secrets(): readonly string[] {
    const { source, given } = this.#settings;
    if (!("address" in source)) return [];
    const { password, walletPassword } = source.address;
    const all = [password, walletPassword, ...given].filter((secret) => typeof secret === "string");
    return [...new Set(all)].filter((secret) => secret !== "");
  }
}

/**
 * A pool that several facets share, such as `oracleCheckpointer({ connection })`.
 * Each facet is closed separately, and the last one to close also closes the pool.
 */
export function oracleConnection(options: OracleConnectionOptions): OracleConnection {
  assertOptions("oracleConnection", options, connectionKinds(options), {});
  return connectionOf("oracleConnection", options);
}

/** `taker` names the function that was given the options. */
export function connectionOf(taker: string, given: OracleConnectionOptions): OracleConnection {
  return new OracleConnection({ ...poolBounds(given, 20_000), source: sourceOf(taker, given), given: new Set() });
}

const OF_A_POOL = ["user", "password", "walletLocation", "walletPassword"] as const;

function sourceOf(taker: string, given: OracleConnectionOptions): OracleSource {
  const { dsn, pool } = given;
  assertDsnOrPool(taker, "oracleConnection", { dsn, pool });
  if (pool !== undefined) {
    const beside = OF_A_POOL.find((name) => given[name] !== undefined);
    if (beside !== undefined)
      throw invalid(`${taker}(): ${beside} is the pool's own; give it to oracledb.createPool()`);
    if (typeof pool.getConnection !== "function") {
      throw invalid(`${taker}(): pool must be what oracledb.createPool() resolved to; await it`);
    }
    return { pool };
  }
  assertDsn(dsn ?? "");
  const { user, password, walletLocation, walletPassword } = given;
  return { address: { dsn: dsn ?? "", user, password, walletLocation, walletPassword } };
}
