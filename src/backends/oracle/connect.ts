import { type Access, assertAccess } from "../../driver/access.ts";
import { SharedConnection } from "../../driver/connection.ts";
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

/** A password, or what gives the one that holds now: it is asked at the first contact, and again when the server refuses the last. */
export type OraclePassword = string | (() => string | Promise<string>);

export interface OracleConnectionOptions {
  /** An alias of the wallet's tnsnames.ora (`mydb_low`), or `host:1521/service`, or `(DESCRIPTION=…)`. */
  readonly dsn?: string;
  readonly user?: string;
  readonly password?: OraclePassword;
  /** The directory of an unpacked wallet: `tnsnames.ora`, and `ewallet.pem` for mutual TLS. `~` is the home directory. */
  readonly walletLocation?: string;
  /** Of the wallet, and not of the user. */
  readonly walletPassword?: string;
  /** An `oracledb` pool of your own instead. It stays yours: `close()` leaves it open. */
  readonly pool?: OraclePool;
  /** How many connections a `dsn` may hold at once. @default 10 */
  readonly maxConnections?: number;
  /** How long to wait for a connection. @default 20000 */
  readonly connectTimeoutMs?: number;
  /** How long to wait for the answer to one statement. @default 30000 */
  readonly statementTimeoutMs?: number;
  /** `"read"` neither creates nor migrates a table: a user with SELECT is enough. @default "write" */
  readonly access?: Access;
}

const KINDS = {
  dsn: "string",
  user: "string",
  walletLocation: "string",
  walletPassword: "string",
  pool: "object",
  maxConnections: "number",
  connectTimeoutMs: "number",
  statementTimeoutMs: "number",
  access: "string",
} as const;

/** The options of a connection, each with its kind; a password that is a function is looked at by itself. */
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
export interface ConnectionSettings {
  readonly source: OracleSource;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly access: Access;
  /** Passwords that a function gave: no error shows one. */
  readonly given: Set<string>;
}

/** One pool for everything that is kept in one database. It is opened at the first use, and closed with the last who holds it. */
export class OracleConnection extends SharedConnection<OracleHandle> {
  /** Where it cannot be printed: it holds the password. */
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

  /** Texts that no error may show, as far as they are known by now. */
  get secrets(): readonly string[] {
    const { source, given } = this.#settings;
    if (!("address" in source)) return [];
    const { password, walletPassword } = source.address;
    const all = [password, walletPassword, ...given].filter((secret) => typeof secret === "string");
    return [...new Set(all)].filter((secret) => secret !== "");
  }
}

/**
 * A pool that several share, such as `oracleCheckpointer({ connection })`.
 * Each is closed by itself, and the last one closes the pool.
 */
export function oracleConnection(options: OracleConnectionOptions): OracleConnection {
  assertOptions("oracleConnection", options, connectionKinds(options), {});
  return connectionOf("oracleConnection", options);
}

/** `taker` is who was given the options. */
export function connectionOf(taker: string, given: OracleConnectionOptions): OracleConnection {
  const { maxConnections = 10, connectTimeoutMs = 20_000, statementTimeoutMs = 30_000, access = "write" } = given;
  assertAccess(access);
  for (const [name, value] of Object.entries({ maxConnections, connectTimeoutMs, statementTimeoutMs })) {
    if (!Number.isInteger(value) || value <= 0) throw invalid(`${name} must be a whole number greater than 0`);
  }
  const source = sourceOf(taker, given);
  return new OracleConnection({
    source,
    maxConnections,
    connectTimeoutMs,
    statementTimeoutMs,
    access,
    given: new Set(),
  });
}

const OF_A_POOL = ["user", "password", "walletLocation", "walletPassword"] as const;

function sourceOf(taker: string, given: OracleConnectionOptions): OracleSource {
  const { dsn, pool } = given;
  if ((dsn === undefined) === (pool === undefined)) {
    const also = taker === "oracleConnection" ? "" : ", or a connection";
    throw invalid(`${taker}() takes either a dsn or a pool${also}`);
  }
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
