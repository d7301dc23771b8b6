import type { Access } from "../../driver/access.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { VersionWatch } from "../../driver/version-watch.ts";
import { StateError } from "../../errors.ts";
import { type Answer, type Asking, onSession, type SessionSource } from "./ask.ts";
import type { Binds } from "./binds.ts";
import type { ConnectionSettings, OraclePool } from "./connect.ts";
import { BINARY_ORDER, loadOracledb, type OracleModule, OwnPool } from "./open-pool.ts";
import type { Deployment } from "./parts.ts";
import { migratedStore, prepareTables } from "./prepare-tables.ts";
import { text } from "./rows.ts";

/** The first version with identifiers of 128 bytes and the JSON functions that are used. */
const OLDEST_VERSION = 12_02_00_00_00;
const FIRST_WITH_VECTORS = 23_04_00_00_00;

export const FACTS_OF_SESSION = `SELECT parameter, value FROM nls_database_parameters WHERE parameter = 'NLS_CHARACTERSET'
UNION ALL
SELECT parameter, value FROM nls_session_parameters WHERE parameter IN ('NLS_COMP', 'NLS_SORT')`;

/** A pool whose server has answered. Every facet works with it. */
export class OracleHandle {
  readonly #source: SessionSource;
  readonly #isOurs: boolean;
  readonly #access: Access;
  #serverVersion = 0;
  readonly #prepared = new Map<string, OpenOnce<VersionWatch>>();

  private constructor(source: SessionSource, isOurs: boolean, access: Access) {
    this.#source = source;
    this.#isOurs = isOurs;
    this.#access = access;
  }

  /** The first contact: checks that this database can keep ids apart. */
  static async open(settings: ConnectionSettings): Promise<OracleHandle> {
    const oracledb = await loadOracledb();
    const source = sourceOf(oracledb, settings);
    const handle = new OracleHandle(source, "address" in settings.source, settings.access);
    try {
      handle.#serverVersion = await onSession(source, assertUsable);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Runs one statement on any session of the pool. */
  ask(statement: string, binds?: Binds, commit = false): Promise<Answer> {
    return onSession(this.#source, (asking) => asking.ask(statement, binds, commit));
  }

  /** Runs several statements on one session. What is not committed with the last one is rolled back. */
  onSession<T>(work: (asking: Asking) => Promise<T>): Promise<T> {
    return onSession(this.#source, work);
  }

  /** Creates the tables, or migrates older ones: once per connection, for all facets that use them. */
  prepare(deployment: Deployment): Promise<VersionWatch> {
    const key = [deployment.version, ...deployment.parts.map(({ name }) => name)].join(" ");
    const preparing = this.#prepared.get(key) ?? new OpenOnce(() => this.#prepare(deployment));
    this.#prepared.set(key, preparing);
    return preparing.get();
  }

  async #prepare(deployment: Deployment): Promise<VersionWatch> {
    await prepareTables(this, deployment, this.#access);
    return new VersionWatch(migratedStore(this, deployment), deployment.parts);
  }

  /** Vectors need support of the server and of the client. */
  assertVectors(): void {
    const what = "a dimension needs vectors, which Oracle Database 23ai and oracledb 6.5 or later have";
    const isKnown = this.#source.oracledb.DB_TYPE_VECTOR !== undefined && this.#serverVersion >= FIRST_WITH_VECTORS;
    if (!isKnown) throw new StateError("UNSUPPORTED", what, { capability: "vectorSearch" });
  }

  async close(): Promise<void> {
    if (this.#isOurs) await this.#source.pool.close(0);
  }
}

function sourceOf(oracledb: OracleModule, settings: ConnectionSettings): SessionSource {
  const bounds = settings;
  if ("pool" in settings.source)
    return { oracledb, pool: settings.source.pool as OraclePool, bounds, abandon: () => undefined };
  const pool = new OwnPool(oracledb, settings.source.address, settings);
  return { oracledb, pool, bounds, abandon: (session) => pool.abandon(session) };
}

/** Returns the version of the server. */
async function assertUsable(asking: Asking): Promise<number> {
  if (asking.serverVersion < OLDEST_VERSION) {
    throw new StateError("INCOMPATIBLE", "Oracle Database 12.2 or later is needed");
  }
  const { rows } = await asking.ask(FACTS_OF_SESSION);
  const facts = Object.fromEntries(rows.map((row) => [text(row, "PARAMETER") ?? "", text(row, "VALUE") ?? ""]));
  // With another character set, characters of an id are replaced on the way in, and two ids could become equal.
  if (facts["NLS_CHARACTERSET"] !== "AL32UTF8") {
    const found = facts["NLS_CHARACTERSET"] ?? "unknown";
    throw new StateError("INCOMPATIBLE", `the character set of the database must be AL32UTF8; it is ${found}`);
  }
  if (facts["NLS_COMP"] === "BINARY" && facts["NLS_SORT"] === "BINARY") return asking.serverVersion;
  throw new StateError("INVALID_ARGUMENT", `the sessions of this pool compare as a language does: ${BINARY_ORDER}`);
}
