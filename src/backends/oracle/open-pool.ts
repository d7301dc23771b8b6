import { randomBytes } from "node:crypto";
import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import type { OracleTypes } from "./binds.ts";
import { isOra } from "./classify.ts";
import type { ConnectionSettings, OracleAddress, OraclePool, OracleSession } from "./connect.ts";
import { expanded } from "./dsn.ts";

/** The exports of `oracledb` that are used. */
export interface OracleModule extends OracleTypes {
  readonly OUT_FORMAT_OBJECT: number;
  createPool(options: object): Promise<OraclePool>;
}

export async function loadOracledb(): Promise<OracleModule> {
  return (await importPeer<{ default: OracleModule }>("oracledb", ">=6 <27")).default;
}

/** Sort and compare by bytes, whatever the server's language; and use UTC, not the machine's time zone. */
export const PREPARE_SESSION = "ALTER SESSION SET NLS_SORT = BINARY NLS_COMP = BINARY TIME_ZONE = '+00:00'";

export const BINARY_ORDER =
  "let its sessionCallback run ALTER SESSION SET NLS_SORT = BINARY NLS_COMP = BINARY, or hand in no pool";

/** Wrong or expired: how a rotated password looks to a pool that has the old one. */
const REFUSED_PASSWORD = [1017, 28001];
/** How long the sessions of an abandoned pool may finish their work. */
const DRAIN_SECONDS = 30;

/** Our own pool. It is reopened if its password was rotated or one of its connections fell silent. */
export class OwnPool implements OraclePool {
  readonly #oracledb: OracleModule;
  readonly #address: OracleAddress;
  readonly #settings: ConnectionSettings;
  readonly #owners = new WeakMap<OracleSession, OpenOnce<OraclePool>>();
  #current: OpenOnce<OraclePool>;
  #password = "";

  constructor(oracledb: OracleModule, address: OracleAddress, settings: ConnectionSettings) {
    this.#oracledb = oracledb;
    this.#address = address;
    this.#settings = settings;
    this.#current = this.#unopened();
  }

  async getConnection(): Promise<OracleSession> {
    try {
      return await this.#connect();
    } catch (error) {
      if (!isOra(error, ...REFUSED_PASSWORD) || (await this.#askPassword()) === this.#password) throw error;
      this.#giveUp(this.#current, DRAIN_SECONDS);
      return this.#connect();
    }
  }

  /** For a session that does not answer: a pool counts it until its socket is closed, which may take a quarter of an hour. */
  abandon(session: OracleSession): void {
    const owner = this.#owners.get(session);
    if (owner !== undefined) this.#giveUp(owner, DRAIN_SECONDS);
  }

  async close(): Promise<void> {
    const opened = await this.#current.opened();
    this.#current = this.#unopened();
    await opened?.close(0);
  }

  async #connect(): Promise<OracleSession> {
    const current = this.#current;
    const session = await (await current.get()).getConnection();
    this.#owners.set(session, current);
    return session;
  }

  /** Later callers get a connection of a new pool. No caller waits for the old one to close. */
  #giveUp(given: OpenOnce<OraclePool>, drainSeconds: number): void {
    if (this.#current !== given) return;
    this.#current = this.#unopened();
    void given.opened().then((pool) => pool?.close(drainSeconds).catch(() => undefined));
  }

  #unopened(): OpenOnce<OraclePool> {
    return new OpenOnce(async () => {
      this.#password = await this.#askPassword();
      return this.#oracledb.createPool(this.#poolOptions());
    });
  }

  async #askPassword(): Promise<string> {
    const { password } = this.#address;
    const given = typeof password === "function" ? await password() : password;
    if (typeof given !== "string" || given === "") {
      throw new StateError(
        "PERMISSION_DENIED",
        "there is no password: give it as an option, or in ORACLE_PASSWORD where a URL has none",
      );
    }
    this.#settings.given.add(given);
    return given;
  }

  #poolOptions(): object {
    const { dsn, user, walletLocation, walletPassword } = this.#address;
    const { maxConnections, connectTimeoutMs } = this.#settings;
    const wallet = walletLocation === undefined ? undefined : expanded(walletLocation);
    return {
      // Without a name of its own, the first pool of a process would become the program's default pool.
      poolAlias: `holdfast-${randomBytes(9).toString("hex")}`,
      connectString: dsn,
      user,
      password: this.#password,
      ...(wallet !== undefined && { configDir: wallet, walletLocation: wallet }),
      ...(walletPassword !== undefined && walletPassword !== "" && { walletPassword }),
      poolMin: 0,
      poolMax: maxConnections,
      poolIncrement: 1,
      poolTimeout: 60,
      queueTimeout: connectTimeoutMs,
      connectTimeout: Math.ceil(connectTimeoutMs / 1000),
      // In minutes: how often an idle connection is probed.
      expireTime: 1,
      stmtCacheSize: 50,
      sessionCallback: (session: OracleSession, _tag: string, done: (error?: unknown) => void) => {
        session.execute(PREPARE_SESSION, {}, {}).then(() => done(), done);
      },
    };
  }
}
