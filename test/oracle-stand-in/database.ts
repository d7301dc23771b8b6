import { createHash } from "node:crypto";
import { Client, type ClientConfig, type QueryArrayResult } from "pg";
import { type OracleError, oracleError, said } from "./oracle-errors.ts";
import { type DeclaredBind, placesOf, rewriteBlock, rewriteStatement } from "./rewrite.ts";

export interface BoundValue extends DeclaredBind {
  readonly value: string | number | Buffer | null;
}

export interface StatementFacts {
  readonly sql: string;
  readonly isBlock: boolean;
  readonly isQuery: boolean;
  readonly isDdl: boolean;
  readonly commits: boolean;
}

export interface Outcome {
  readonly columns: readonly {
    readonly name: string;
    readonly type: "text" | "number" | "bytes" | "clob" | "blob" | "vector";
  }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly rowCount: number;
  readonly out: Readonly<Record<string, unknown>>;
}

/** A failure that the server reports, as opposed to a line that fails. */
export class ServerError extends Error {
  readonly oracle: OracleError;

  constructor(oracle: OracleError) {
    super(oracle.message);
    this.oracle = oracle;
  }
}

/** MAX_STRING_SIZE = STANDARD: more than this in a bind of SQL, where no LOB takes it directly, is ORA-01461. */
const MOST_SQL_BYTES = 4000;

/** One session: PostgreSQL with the rules of Oracle where the two differ. */
export class StandInDatabase {
  readonly #client: Client;
  readonly #address: ClientConfig;
  readonly #functions = new Set<string>();
  #createdInTransaction: string[] = [];
  isInTransaction = false;

  private constructor(client: Client, address: ClientConfig) {
    this.#client = client;
    this.#address = address;
  }

  static async connect(options: {
    host: string;
    port: number;
    database: string;
    user: string;
    password: string;
    onLost: () => void;
  }): Promise<StandInDatabase> {
    const { onLost, ...address } = options;
    const own = { ...address, user: address.user.toLowerCase() };
    const client = new Client(own);
    client.on("error", onLost);
    await client.connect();
    await client.query(`SET search_path = "$user", oracle_sys, pg_catalog; SET client_min_messages = error`);
    return new StandInDatabase(client, own);
  }

  async end(): Promise<void> {
    await this.#client.end();
  }

  /** Asks the server to give up what it is doing, over a line of its own. */
  async cancel(): Promise<void> {
    const { processID } = this.#client as unknown as { processID: number };
    const other = new Client(this.#address);
    other.on("error", () => undefined);
    try {
      await other.connect();
      await other.query("SELECT pg_cancel_backend($1)", [processID]);
    } finally {
      await other.end();
    }
  }

  async commit(): Promise<void> {
    await this.#end("COMMIT");
    this.#createdInTransaction = [];
  }

  async rollback(): Promise<void> {
    await this.#end("ROLLBACK");
    for (const name of this.#createdInTransaction) this.#functions.delete(name);
    this.#createdInTransaction = [];
  }

  async execute(statement: StatementFacts, given: readonly BoundValue[]): Promise<Outcome> {
    const binds = given.map(emptyIsNull);
    try {
      if (/^ALTER SESSION SET\b/.test(statement.sql)) return await this.#alterSession(statement.sql);
      if (statement.isDdl) return await this.#define(statement.sql, binds);
      assertBindSizes(statement, binds);
      return await this.#run(statement, binds);
    } catch (error) {
      if (error instanceof ServerError) throw error;
      const oracle = oracleError(error, statement.isBlock);
      if (oracle === undefined) throw error;
      throw new ServerError(oracle);
    }
  }

  /** A failed statement undoes itself and nothing before it; a commit comes only behind one that did not fail. */
  async #run(statement: StatementFacts, binds: readonly BoundValue[]): Promise<Outcome> {
    const isAlone = statement.isQuery || (statement.commits && !this.isInTransaction);
    if (isAlone && !this.isInTransaction) return this.#send(statement, binds);
    if (!this.isInTransaction) await this.#client.query("BEGIN");
    this.isInTransaction = true;
    await this.#client.query("SAVEPOINT statement");
    try {
      const outcome = await this.#send(statement, binds);
      if (statement.commits) await this.commit();
      return outcome;
    } catch (error) {
      await this.#client.query("ROLLBACK TO SAVEPOINT statement").catch(() => undefined);
      throw error;
    }
  }

  async #send(statement: StatementFacts, binds: readonly BoundValue[]): Promise<Outcome> {
    if (statement.isBlock) return this.#callBlock(statement.sql, binds);
    const { text, parameters } = rewriteStatement(statement.sql, binds);
    const values = parameters.map((name) => binds.find((bind) => bind.name === name)?.value ?? null);
    const result = await this.#client.query<unknown[]>({ text, values, rowMode: "array" });
    return { columns: await this.#columnsOf(result), rows: result.rows, rowCount: result.rowCount ?? 0, out: {} };
  }

  async #callBlock(sql: string, binds: readonly BoundValue[]): Promise<Outcome> {
    const kinds = binds.map(({ name, kind }) => `${name} ${kind}`).join();
    const name = `block_${createHash("sha256").update(`${sql} ${kinds}`).digest("hex").slice(0, 24)}`;
    if (!this.#functions.has(name)) {
      await this.#client.query(rewriteBlock(name, sql, binds));
      this.#functions.add(name);
      if (this.isInTransaction) this.#createdInTransaction.push(name);
    }
    const places = placesOf(binds);
    const listOf = (kind: string): unknown[] => {
      const list: unknown[] = [];
      for (const bind of binds) if (bind.kind === kind) list[(places.get(bind.name) ?? 0) - 1] = bind.value;
      return list;
    };
    const values = [listOf("text"), listOf("number"), listOf("bytes"), listOf("vector")];
    const { rows } = await this.#client.query<Record<string, unknown>>(
      `SELECT * FROM pg_temp.${name}($1, $2, $3, $4)`,
      values,
    );
    return { columns: [], rows: [], rowCount: 0, out: rows[0] ?? {} };
  }

  /** DDL commits what was before it, and itself; also when it fails. */
  async #define(sql: string, binds: readonly BoundValue[]): Promise<Outcome> {
    if (this.isInTransaction) await this.commit();
    for (const [name] of sql.matchAll(/[A-Za-z][A-Za-z0-9_$#]*/g)) {
      if (Buffer.byteLength(name) > 128) throw new ServerError(said(972, "identifier is too long"));
    }
    if (longestKey(sql) > MOST_KEY_BYTES) throw new ServerError(said(1450, "maximum key length (6398) exceeded"));
    await this.#client.query(rewriteStatement(sql, binds).text);
    return NOTHING;
  }

  async #alterSession(sql: string): Promise<Outcome> {
    for (const [, name = "", value = ""] of sql.matchAll(/\b(NLS_\w+) = (\w+)/g)) {
      await this.#client.query("SELECT set_config($1, $2, false)", [`standin.${name.toLowerCase()}`, value]);
    }
    return NOTHING;
  }

  async #end(how: "COMMIT" | "ROLLBACK"): Promise<void> {
    if (this.isInTransaction) await this.#client.query(how);
    this.isInTransaction = false;
  }

  /** LOBs are told by the column they come from; those that an expression gives, by their name. */
  async #columnsOf({ fields }: QueryArrayResult<unknown[]>): Promise<Outcome["columns"]> {
    return fields.map(({ name, dataTypeID }) => {
      const isLob = /^long_/.test(name);
      if (name === "embedding") return { name: name.toUpperCase(), type: "vector" } as const;
      const type =
        dataTypeID === BYTEA ? (isLob ? "blob" : "bytes") : dataTypeID === TEXT ? (isLob ? "clob" : "text") : "number";
      return { name: name.toUpperCase(), type } as const;
    });
  }
}

/** Of an index in blocks of 8 kB: the sum of what its columns may hold, and not of what they do. */
const MOST_KEY_BYTES = 6398;

function longestKey(sql: string): number {
  const sizes = new Map(
    [...sql.matchAll(/\b(\w+) (?:VARCHAR2|RAW)\((\d+)/g)].map(([, name, size]) => [name, Number(size)]),
  );
  const keys = [...sql.matchAll(/\bPRIMARY KEY \(([^)]*)\)/g)].map(([, columns = ""]) => columns.split(", "));
  const lengths = keys.map((columns) => columns.reduce((sum, column) => sum + (sizes.get(column) ?? 22) + 1, 0));
  return Math.max(0, ...lengths);
}

const BYTEA = 17;
const TEXT = 25;
const NOTHING: Outcome = { columns: [], rows: [], rowCount: 0, out: {} };

const emptyIsNull = (bind: BoundValue): BoundValue => {
  const { value } = bind;
  const isEmpty = value === "" || (Buffer.isBuffer(value) && value.length === 0);
  return isEmpty ? { ...bind, value: null } : bind;
};

function assertBindSizes({ sql, isBlock }: StatementFacts, binds: readonly BoundValue[]): void {
  if (isBlock) return;
  for (const { name, kind, value } of binds) {
    // A vector is a type of its own, as long as it may be.
    if (kind === "vector") continue;
    const size = typeof value === "string" ? Buffer.byteLength(value) : Buffer.isBuffer(value) ? value.length : 0;
    const isDirect = new RegExp(`(?:VALUES \\([^()]*|SET [^()]*= ):${name}\\b`, "i").test(sql);
    if (size <= MOST_SQL_BYTES || (isDirect && !/\bMERGE\b|\bSELECT\b/i.test(sql))) continue;
    throw new ServerError(said(1461, "can bind a LONG value only for insert into a LONG column"));
  }
}
