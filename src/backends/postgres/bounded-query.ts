import type { Access } from "../../driver/access.ts";
import type { TextRow } from "./ask.ts";
import type { PostgresClient, PostgresQuery } from "./connect.ts";
import { isOfNames, nameOf, type Session, sessionOf } from "./sessions.ts";

/** The parts of `pg`'s query class that are used here. */
interface PgQuery {
  prepare(connection: PgConnection): void;
}

type PgQueryClass = new (config: object) => PgQuery;

/** The protocol messages that `pg` can send. */
interface PgConnection {
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: object): void;
  describe(message: { readonly type: "P"; readonly name: string }): void;
  execute(message: { readonly portal: string; readonly rows: number }): void;
}

interface Answered {
  readonly rows: readonly TextRow[];
}

const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** The limits of one statement's transaction. */
interface Limits {
  readonly timeoutMs: number;
  readonly access: Access;
}

export interface BoundedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whether the server may keep it under a name: only for the few texts that are sent again and again. */
  readonly isKept?: boolean;
}

/**
 * One statement that the server aborts after `timeoutMs`, also behind a pooler. A
 * setting made on the connection would be lost on a pooler, and a setting made
 * inside the statement comes too late for it. So two statements travel together, in
 * one round trip and one transaction. The first sets the limit for that transaction,
 * unless a smaller limit is already set. With read access it also makes the
 * transaction read-only, so that the server itself refuses a write.
 *
 * A connection that leads to the server itself keeps the first one under a name, and
 * the second if `isKept`: parsing them takes as long as a third of an append. Behind
 * a pooler the session changes, and with it what was kept, so nothing gets a name.
 */
export async function boundedQuery(
  client: PostgresClient,
  limits: Limits,
  statement: BoundedStatement,
): Promise<readonly TextRow[]> {
  const { text, values } = statement;
  const config = { text, values: [...values], types: AS_TEXT };
  const bounded = boundedClass(client);
  // Not `pg`'s JavaScript client: the pool's own limits apply.
  if (bounded === undefined) return limits.access === "read" ? readOnly(client, config) : plain(client, config);
  const session = sessionOf(client);
  const isKept = statement.isKept === true && session.isDirect === true;
  try {
    return await sent(client, bounded, isKept ? { ...config, name: nameOf(text) } : config, limits);
  } catch (error) {
    if (session.isDirect !== true || !isOfNames(error)) throw error;
    // Somebody has cleared the session, as DISCARD ALL does. The server refused before it ran anything.
    session.isDirect = false;
    return sent(client, bounded, config, limits);
  }
}

function sent(client: PostgresClient, bounded: BoundedQueryClass, config: object, limits: Limits): Promise<TextRows> {
  return new Promise((resolve, reject) => {
    const callback = (error: Error | null, answered?: Answered | readonly Answered[]): void => {
      if (error) {
        reject(error);
        return;
      }
      const results = (Array.isArray(answered) ? answered : [answered]) as readonly (Answered | undefined)[];
      const session = sessionOf(client);
      session.isDirect ??= results[0]?.rows[0]?.["pid"] === session.pid;
      resolve(results.at(-1)?.rows ?? []);
    };
    // Without values `pg` would use the simple protocol, in which nothing can be sent before the statement.
    client.query(new bounded({ ...config, queryMode: "extended", callback }, limits, sessionOf(client)) as never);
  });
}

type TextRows = readonly TextRow[];

const plain = async (client: PostgresClient, query: PostgresQuery): Promise<TextRows> =>
  ((await client.query(query)) as Answered).rows;

/** After a failure in between, the connection is discarded, and its transaction with it. */
async function readOnly(client: PostgresClient, query: PostgresQuery): Promise<TextRows> {
  await client.query({ text: "BEGIN READ ONLY" });
  const rows = await plain(client, query);
  await client.query({ text: "COMMIT" });
  return rows;
}

type BoundedQueryClass = new (config: object, limits: Limits, session: Session) => PgQuery;

const classes = new WeakMap<PgQueryClass, BoundedQueryClass>();

/** Extends the query class of the copy of `pg` that the client came from. */
function boundedClass(client: PostgresClient): BoundedQueryClass | undefined {
  const { connection } = client as { connection?: Partial<PgConnection> };
  const { Query } = client.constructor as { Query?: PgQueryClass };
  if (typeof connection?.parse !== "function" || typeof Query?.prototype?.prepare !== "function") return undefined;
  const known = classes.get(Query);
  if (known !== undefined) return known;
  class BoundedQuery extends Query {
    readonly #limits: Limits;
    readonly #session: Session;

    constructor(config: object, limits: Limits, session: Session) {
      super(config);
      this.#limits = limits;
      this.#session = session;
    }

    /** Older versions of `pg` do not know `queryMode`. */
    requiresPreparation(): boolean {
      return true;
    }

    override prepare(connection: PgConnection): void {
      const { isDirect, limits } = this.#session;
      const text = limitOf(this.#limits);
      const name = isDirect === true ? nameOf(text) : "";
      if (!limits.has(name)) connection.parse({ text: isDirect === undefined ? askingWho(text) : text, name });
      // A connection on which the statement fails is discarded, so the name need not wait for the answer.
      if (name !== "") limits.add(name);
      connection.bind({ portal: "", statement: name, values: [], valueMapper: (value: unknown) => value });
      if (isDirect === undefined) connection.describe({ type: "P", name: "" });
      connection.execute({ portal: "", rows: 0 });
      super.prepare(connection);
    }
  }
  classes.set(Query, BoundedQuery);
  return BoundedQuery;
}

/** Returns no rows, so its result cannot be confused with that of the statement. CASE evaluates one WHEN after the other. */
const limitOf = ({ timeoutMs, access }: Limits): string => `SELECT WHERE CASE
  ${access === "read" ? "WHEN set_config('transaction_read_only', 'on', true) IS NULL THEN false" : ""}
  WHEN current_setting('statement_timeout')::interval BETWEEN '1 microsecond' AND '${timeoutMs} milliseconds' THEN false
  ELSE set_config('statement_timeout', '${timeoutMs}', true) IS NULL END`;

/** The first statement on a connection also says which process of the server answers: one row. */
const askingWho = (limit: string): string => `WITH bounded AS MATERIALIZED (${limit})
  SELECT pg_backend_pid()::text AS pid, (SELECT count(*) FROM bounded)`;
