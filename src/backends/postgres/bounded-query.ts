import type { Access } from "../../driver/access.ts";
import type { TextRow } from "./ask.ts";
import type { PostgresClient, PostgresQuery } from "./connect.ts";

/** The parts of `pg`'s query class that are used here. */
interface PgQuery {
  prepare(connection: PgConnection): void;
}

type PgQueryClass = new (config: object) => PgQuery;

/** The protocol messages that `pg` can send. */
interface PgConnection {
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: object): void;
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

/**
 * One statement that the server aborts after `timeoutMs`, also behind a pooler. A
 * setting made on the connection would be lost on a pooler, and a setting made
 * inside the statement comes too late for it. So two statements travel together, in
 * one round trip and one transaction. The first sets the limit for that transaction,
 * unless a smaller limit is already set. With read access it also makes the
 * transaction read-only, so that the server itself refuses a write.
 */
export async function boundedQuery(
  client: PostgresClient,
  limits: Limits,
  text: string,
  values: readonly unknown[],
): Promise<readonly TextRow[]> {
  const config = { text, values: [...values], types: AS_TEXT };
  const bounded = boundedClass(client);
  // Not `pg`'s JavaScript client: the pool's own limits apply.
  if (bounded === undefined) return limits.access === "read" ? readOnly(client, config) : plain(client, config);
  return new Promise((resolve, reject) => {
    const callback = (error: Error | null, answered?: Answered | readonly Answered[]): void => {
      const own = (Array.isArray(answered) ? answered.at(-1) : answered) as Answered | undefined;
      if (error) reject(error);
      else resolve(own?.rows ?? []);
    };
    // Without values `pg` would use the simple protocol, in which nothing can be sent before the statement.
    client.query(new bounded({ ...config, queryMode: "extended", callback }, limits) as never);
  });
}

const plain = async (client: PostgresClient, query: PostgresQuery): Promise<readonly TextRow[]> =>
  ((await client.query(query)) as Answered).rows;

/** After a failure in between, the connection is discarded, and its transaction with it. */
async function readOnly(client: PostgresClient, query: PostgresQuery): Promise<readonly TextRow[]> {
  await client.query({ text: "BEGIN READ ONLY" });
  const rows = await plain(client, query);
  await client.query({ text: "COMMIT" });
  return rows;
}

type BoundedQueryClass = new (config: object, limits: Limits) => PgQuery;

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

    constructor(config: object, limits: Limits) {
      super(config);
      this.#limits = limits;
    }

    /** Older versions of `pg` do not know `queryMode`. */
    requiresPreparation(): boolean {
      return true;
    }

    override prepare(connection: PgConnection): void {
      connection.parse({ text: limitOf(this.#limits), name: "" });
      connection.bind({ portal: "", statement: "", values: [], valueMapper: (value: unknown) => value });
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
