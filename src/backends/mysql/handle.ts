import { readFile } from "node:fs/promises";
import { type Row, type SqlText, type Values, valuesOf } from "../../checkpoint/sql-log/dialect.ts";
import type { Answer, SqlSession, Transactions } from "../../checkpoint/sql-log/plain-changes.ts";
import type { Durability } from "../../driver/durability.ts";
import { invalid } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { inTime } from "../../internal/time.ts";
import { explained, numberOf, unmade } from "./classify.ts";
import type { ConnectionSettings, MysqlPool, MysqlSession } from "./connect.ts";

interface MysqlModule {
  readonly default: { createPool(options: object): MysqlPool };
}

/** What the first contact reads: of MySQL and of MariaDB, whichever names they have. */
const FACTS = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_allowed_packet', 'innodb_flush_log_at_trx_commit',
  'log_bin', 'sync_binlog', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', 'rpl_semi_sync_replica_enabled',
  'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_timeout')`;
const MODES = "SELECT @@SESSION.sql_mode AS modes, @@SESSION.autocommit AS autocommit";

/** Beside a body a packet holds the other columns of its record. */
const BESIDE_A_BODY = 1024 * 1024;
const LEAST_PACKET = 4 * BESIDE_A_BODY;
const MOST_BODY = 64 * 1024 * 1024;
/** A fallback to asynchronous replication so late is none. */
const NEVER_MS = 3_600_000;
/** How much longer to wait for the server's own timeout error: it proves that nothing was written. */
const GRACE_MS = 500;

/** A pool whose server has answered. Every facet works with it. */
export class MysqlHandle implements Transactions {
  readonly access: ConnectionSettings["access"];
  durability: Durability = "os";
  maxRecordBytes = 0;
  readonly #pool: MysqlPool;
  readonly #isOurs: boolean;
  readonly #settings: ConnectionSettings;
  readonly #prepared = new WeakSet<object>();

  private constructor(pool: MysqlPool, settings: ConnectionSettings) {
    this.#pool = pool;
    this.#isOurs = "dsn" in settings.source;
    this.#settings = settings;
    this.access = settings.access;
  }

  static async open(settings: ConnectionSettings): Promise<MysqlHandle> {
    const { source } = settings;
    const handle = new MysqlHandle("dsn" in source ? await openPool(source.dsn, settings) : source.pool, settings);
    try {
      await handle.#learn();
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #learn(): Promise<void> {
    const { facts, modes } = await this.onSession(async (session) => ({
      facts: await session.query(FACTS),
      modes: (await session.query(MODES))[0],
    }));
    // Without it the server cuts values that are too long, and two ids could become one.
    if (!/STRICT_(TRANS|ALL)_TABLES/.test(text(modes?.["modes"]))) {
      throw invalid("the sessions of this pool are not strict: let it set sql_mode to one with STRICT_TRANS_TABLES");
    }
    if (Number(modes?.["autocommit"]) !== 1)
      throw invalid("the sessions of this pool do not commit by themselves: set autocommit = 1");
    const known = new Map(facts.map((row) => [text(row["Variable_name"]), text(row["Value"])]));
    const packet = Number(known.get("max_allowed_packet"));
    if (packet < LEAST_PACKET)
      throw invalid(`the server takes packets of ${packet} bytes: set max_allowed_packet to 16M or more`);
    this.maxRecordBytes = Math.min(packet - BESIDE_A_BODY, MOST_BODY);
    this.durability = durabilityOf(known);
  }

  /** Runs one statement, committed by itself. */
  ask(statement: SqlText, values: Values = {}): Promise<Answer> {
    return this.onSession((session) => session.ask(statement, values));
  }

  /** Whatever fails before the commit was sent was certainly not made: what the session did is rolled back with it. */
  async transaction<T>(work: (session: SqlSession) => Promise<T | undefined>): Promise<T | undefined> {
    let isCommitting = false;
    try {
      return await this.onSession(async (session) => {
        await session.query("START TRANSACTION");
        const result = await work(session);
        isCommitting = result !== undefined;
        await session.query(isCommitting ? "COMMIT" : "ROLLBACK");
        return result;
      });
    } catch (error) {
      throw isCommitting ? error : unmade(error);
    }
  }

  isTaken(error: unknown): boolean {
    return numberOf(error) === 1062;
  }

  /** A session on which something failed is closed, so the server rolls back its transaction and releases its locks. */
  async onSession<T>(work: (session: Borrowed) => Promise<T>): Promise<T> {
    const session = await this.#borrow();
    let isSound = false;
    try {
      const result = await work(new Borrowed(session, this.#settings.statementTimeoutMs));
      isSound = true;
      return result;
    } finally {
      if (this.#isOurs) session.connection.stream?.unref?.();
      if (isSound) session.release();
      else discard(session);
    }
  }

  async #borrow(): Promise<MysqlSession> {
    const { connectTimeoutMs, statementTimeoutMs } = this.#settings;
    const connecting = this.#pool.getConnection();
    const session = await inTime(connectTimeoutMs + GRACE_MS, connecting).catch((error: unknown) => {
      // One that arrives late goes back to the pool.
      connecting.then((late) => late.release()).catch(() => undefined);
      throw unmade(explained(error));
    });
    const { connection } = session;
    // Its pool listens once. A second error without a listener would end this process.
    if (connection.listenerCount("error") < 2) connection.on("error", () => undefined);
    connection.stream?.ref?.();
    if (!this.#isOurs || this.#prepared.has(connection)) return session;
    try {
      const borrowed = new Borrowed(session, statementTimeoutMs);
      for (const statement of sessionSettings(this.#settings)) await borrowed.query(statement);
    } catch (error) {
      discard(session);
      throw unmade(error);
    }
    this.#prepared.add(connection);
    return session;
  }

  async close(): Promise<void> {
    if (this.#isOurs) await this.#pool.end();
  }
}

/** Out of the pool, and at once: a server that does not answer is not waited for. */
function discard(session: MysqlSession): void {
  session.destroy();
  session.connection.stream?.destroy?.();
}

/** Options of the pool that would change the form of rows are set for each statement. */
const AS_ROWS = {
  rowsAsArray: false,
  nestTables: false,
  namedPlaceholders: false,
  typeCast: true,
  supportBigNumbers: false,
};

/** A session of the pool, for a while. */
export class Borrowed implements SqlSession {
  readonly #session: MysqlSession;
  readonly #timeoutMs: number;

  constructor(session: MysqlSession, timeoutMs: number) {
    this.#session = session;
    this.#timeoutMs = timeoutMs;
  }

  /** A statement without values. */
  async query(statement: string): Promise<readonly Row[]> {
    const [rows] = await this.#inTime(this.#session.query({ sql: statement, ...AS_ROWS }));
    return Array.isArray(rows) ? (rows as readonly Row[]) : [];
  }

  async ask(statement: SqlText, values: Values): Promise<Answer> {
    const asked = this.#session.execute({
      sql: statement.text,
      values: valuesOf(statement, values).map(asSent),
      ...AS_ROWS,
    });
    const [answer] = await this.#inTime(asked);
    if (Array.isArray(answer)) return { rows: answer as readonly Row[], changes: 0 };
    return { rows: [], changes: Number((answer as { affectedRows?: number }).affectedRows ?? 0) };
  }

  #inTime<T>(asked: Promise<T>): Promise<T> {
    return inTime(this.#timeoutMs + GRACE_MS, asked);
  }
}

/**
 * Texts travel as bytes, so that no character set of a session can change one; and numbers as text, because a server
 * may refuse a double where it wants a whole number.
 */
function asSent(value: Values[string]): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return Buffer.from(value);
  if (typeof value === "number") return String(value);
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/**
 * Of our own sessions. Comments with a version are read by one of the two servers only. A transaction whose process
 * froze is ended, so that it does not keep a thread locked; what waits for a lock gives up before its caller does.
 */
function sessionSettings({ statementTimeoutMs, access }: ConnectionSettings): readonly string[] {
  const seconds = Math.max(Math.ceil(statementTimeoutMs / 1000), 1);
  return [
    `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1,
      innodb_lock_wait_timeout = ${seconds}, wait_timeout = ${Math.max(2 * seconds, 60)}
      /*M! , max_statement_time = ${statementTimeoutMs / 1000}, idle_transaction_timeout = ${seconds} */
      /*!80000 , max_execution_time = ${statementTimeoutMs} */`,
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    ...(access === "read" ? ["SET SESSION TRANSACTION READ ONLY"] : []),
  ];
}

/** Anything but a sync of both logs with each commit may lose one with the machine. */
function durabilityOf(facts: ReadonlyMap<string, string>): Durability {
  const isLogged = facts.get("log_bin") === "ON";
  if (facts.get("innodb_flush_log_at_trx_commit") !== "1" || (isLogged && facts.get("sync_binlog") !== "1"))
    return "os";
  for (const source of ["rpl_semi_sync_master", "rpl_semi_sync_source"]) {
    const waits = facts.get(`${source}_enabled`) === "ON" && Number(facts.get(`${source}_timeout`)) >= NEVER_MS;
    if (waits) return "replicated";
  }
  return "fsync";
}

async function openPool(dsn: string, { maxConnections, connectTimeoutMs }: ConnectionSettings): Promise<MysqlPool> {
  const { default: mysql2 } = await importPeer<MysqlModule>("mysql2", "^3.11").then((found) =>
    found.default === undefined ? { default: found as unknown as MysqlModule["default"] } : found,
  );
  const { username, password, hostname, port, pathname, searchParams } = new URL(dsn);
  const pool = mysql2.createPool({
    host: hostname.replace(/^\[|\]$/g, "") || "localhost",
    ...(port !== "" && { port: Number(port) }),
    ...{ user: decodeURIComponent(username), password: decodeURIComponent(password) },
    database: decodeURIComponent(pathname.slice(1)),
    ...{ connectionLimit: maxConnections, connectTimeout: connectTimeoutMs, charset: "UTF8MB4_BIN" },
    ...((await tlsOf(searchParams)) ?? {}),
  });
  return pool.promise?.() ?? pool;
}

const MODES_OF_TLS = ["disabled", "required", "verify_ca", "verify_identity"];

async function tlsOf(parameters: URLSearchParams): Promise<{ readonly ssl: object } | undefined> {
  const mode = (parameters.get("ssl-mode") ?? (parameters.has("ssl-ca") ? "verify_ca" : "disabled")).toLowerCase();
  if (!MODES_OF_TLS.includes(mode)) throw invalid(`ssl-mode must be one of ${MODES_OF_TLS.join(", ")}`);
  if (mode === "disabled") return undefined;
  const file = async (name: string): Promise<string | undefined> => {
    const path = parameters.get(`ssl-${name}`);
    if (path === null) return undefined;
    return readFile(path, "utf8").catch((cause: unknown) =>
      Promise.reject(new StateError("INVALID_ARGUMENT", `the file that ssl-${name} names cannot be read`, { cause })),
    );
  };
  const [ca, cert, key] = [await file("ca"), await file("cert"), await file("key")];
  const files = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  const isVerified = mode !== "required";
  return { ssl: { ...files, rejectUnauthorized: isVerified, verifyIdentity: mode === "verify_identity" } };
}

const text = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : String(value ?? "");
