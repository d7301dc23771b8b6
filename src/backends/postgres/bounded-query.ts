import type { Bounds, TextRow } from "./ask.ts";
import type { PostgresClient, PostgresQuery } from "./connect.ts";
import { type Limit, limitFor } from "./limit.ts";
import { isOfNames, nameOf, type Session, sessionOf } from "./sessions.ts";

type TextRows = readonly TextRow[];

/** Is told the rows, or what went wrong. */
type Done = (error: unknown, rows?: TextRows) => void;

/** The parts of `pg`'s query class that are used here. */
interface PgQuery {
  values: unknown;
  name: string | undefined;
  callback: Done;
  prepare(connection: PgConnection): void;
}

type PgQueryClass = new (text: string) => PgQuery;

/** The protocol messages that `pg` can send. */
interface PgConnection {
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: object): void;
  describe(message: { readonly type: "P"; readonly name: string }): void;
  execute(message: { readonly portal: string; readonly rows: number }): void;
  sync(): void;
}

const AS_TEXT = { getTypeParser: () => (value: string) => value };
const THE_PORTAL = { portal: "", rows: 0 } as const;

export interface BoundedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whether the server may keep it under a name: only for the few texts that are sent again and again. */
  readonly isKept?: boolean | undefined;
  /** The columns of the answer, if they need not be asked for: see `Asking`. */
  readonly columns?: readonly string[] | undefined;
}

/**
 * One statement that the server aborts after a time, also behind a pooler. A setting
 * made on the connection would be lost on a pooler, and a setting made inside the
 * statement comes too late for it. So two statements travel together, in one round trip
 * and one transaction. The first sets the limit for that transaction: limit.ts.
 *
 * A connection that leads to the server itself keeps the first one under a name, and
 * the second if `isKept`: parsing them takes as long as a third of an append. Behind a
 * pooler the session changes, and with it what was kept, so nothing gets a name.
 *
 * If such a connection is ours alone, what is kept needs no limit of its own: it gets
 * its name together with a limit for the whole session. A statement that finds the name
 * is therefore in that session, and under that limit; elsewhere the server refuses.
 */
export function boundedQuery(client: PostgresClient, bounds: Bounds, statement: BoundedStatement, done: Done): void {
  const bounded = boundedClass(client);
  if (bounded === undefined) {
    unbounded(client, bounds, statement).then((rows) => done(undefined, rows), done);
    return;
  }
  const session = sessionOf(client);
  const send = (told: Done): void => {
    try {
      client.query(new bounded(statement, limitFor(bounds), session, told) as never);
    } catch (error) {
      told(error);
    }
  };
  send((error, rows) => {
    if (rows !== undefined || session.isDirect !== true || !isOfNames(error)) return done(error, rows);
    // Another program cleared the session, as DISCARD ALL does. The server refused before it ran anything.
    session.isDirect = false;
    send(done);
  });
}

/** Not with `pg`'s JavaScript client: the pool's own limits apply. */
async function unbounded(client: PostgresClient, { access }: Bounds, statement: BoundedStatement): Promise<TextRows> {
  const query: PostgresQuery = { text: statement.text, values: [...statement.values], types: AS_TEXT };
  // After a failure in between, the connection is discarded, and its transaction with it.
  if (access === "read") await client.query({ text: "BEGIN READ ONLY" });
  const { rows } = await client.query(query);
  if (access === "read") await client.query({ text: "COMMIT" });
  return rows as TextRows;
}

type BoundedQueryClass = new (statement: BoundedStatement, limit: Limit, session: Session, done: Done) => PgQuery;

const classes = new WeakMap<PgQueryClass, BoundedQueryClass>();

/** Extends the query class of the copy of `pg` that the client came from. */
function boundedClass(client: PostgresClient): BoundedQueryClass | undefined {
  const { connection } = client as { connection?: Partial<PgConnection> };
  const { Query } = client.constructor as { Query?: PgQueryClass };
  if (typeof connection?.parse !== "function" || typeof Query?.prototype?.prepare !== "function") return undefined;
  const known = classes.get(Query);
  if (known !== undefined) return known;
  const bounded = extended(Query);
  classes.set(Query, bounded);
  return bounded;
}

const extended = (Query: PgQueryClass): BoundedQueryClass =>
  class BoundedQuery extends Query {
    readonly #text: string;
    readonly #limit: Limit;
    readonly #session: Session;
    readonly #isDescribed: boolean;
    #columns: readonly string[];
    #rows: TextRow[] = [];
    /** Whether the answer to the limit is still to come. */
    #isBehindLimit = false;

    constructor({ text, values, isKept, columns }: BoundedStatement, limit: Limit, session: Session, done: Done) {
      super(text);
      this.#text = text;
      this.#limit = limit;
      this.#session = session;
      this.values = values;
      this.callback = done;
      if (isKept === true && session.isDirect === true) this.name = nameOf(text);
      this.#isDescribed = columns !== undefined && this.name !== undefined;
      this.#columns = columns ?? [];
    }

    /** Without values `pg` would use the simple protocol, in which nothing can be sent before the statement. */
    requiresPreparation(): boolean {
      return true;
    }

    override prepare(connection: PgConnection): void {
      const { name } = this;
      const { kept } = this.#session;
      const isNew = name !== undefined && !kept.has(name);
      if (name === undefined || this.#limit.ofSession === undefined) this.#sendLimit(connection);
      else if (isNew) this.#send(connection, this.#limit.ofSession);
      // A connection on which the statement fails is discarded, so the name need not wait for the answer.
      if (isNew) kept.add(name);
      if (name === undefined || !this.#isDescribed) {
        super.prepare(connection);
        return;
      }
      if (isNew) connection.parse({ text: this.#text, name });
      connection.bind({ portal: "", statement: name, values: this.values, valueMapper: asSent });
      connection.execute(THE_PORTAL);
      connection.sync();
    }

    #sendLimit(connection: PgConnection): void {
      const { isDirect } = this.#session;
      const { text, asking, name } = this.#limit;
      if (isDirect === true) this.#send(connection, text, name);
      else this.#send(connection, isDirect === undefined ? asking : text);
    }

    #send(connection: PgConnection, text: string, name = ""): void {
      const { isDirect, kept } = this.#session;
      if (!kept.has(name)) connection.parse({ text, name });
      if (name !== "") kept.add(name);
      connection.bind({ portal: "", statement: name, values: [] });
      if (isDirect === undefined) connection.describe({ type: "P", name: "" });
      connection.execute(THE_PORTAL);
      this.#isBehindLimit = true;
    }

    handleRowDescription({ fields }: { readonly fields: readonly { readonly name: string }[] }): void {
      this.#columns = fields.map(({ name }) => name);
    }

    handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
      const row: Record<string, string | null> = {};
      for (let index = 0; index < fields.length; index++) row[this.#columns[index] ?? ""] = fields[index] ?? null;
      this.#rows.push(row);
    }

    handleCommandComplete(): void {
      if (!this.#isBehindLimit) return;
      this.#isBehindLimit = false;
      this.#session.isDirect ??= this.#rows[0]?.["pid"] === this.#session.pid;
      this.#rows = [];
    }

    handleReadyForQuery(): void {
      this.callback(null, this.#rows);
    }
  };

/** As `pg` sends bytes and numbers. */
function asSent(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
