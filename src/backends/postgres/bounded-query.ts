import type { Access } from "../../driver/access.ts";
import type { TextRow } from "./ask.ts";
import type { PostgresClient, PostgresQuery } from "./connect.ts";

/** `pg`'s own query, as far as it is extended here. */
interface PgQuery {
  prepare(connection: PgConnection): void;
}

type PgQueryClass = new (config: object) => PgQuery;

/** The messages of the protocol, as `pg` sends them. */
interface PgConnection {
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: object): void;
  execute(message: { readonly portal: string; readonly rows: number }): void;
}

interface Answered {
  readonly rows: readonly TextRow[];
}

const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** What holds for the transaction of one statement. */
interface Limits {
  readonly timeoutMs: number;
  readonly access: Access;
}

/**
 * One statement that the server gives up after `timeoutMs`, whatever stands in
 * between. A setting made on the connection would be lost on a pooler, and one
 * made inside the statement comes too late for it. So two statements travel
 * together, in one round trip and one transaction: the first sets the limit for
 * that transaction, and leaves a smaller one alone. With read access it also makes
 * that transaction read-only, so that the server itself refuses a write.
 */
export async function boundedQuery(
  client: PostgresClient,
  limits: Limits,
  text: string,
  values: readonly unknown[],
): Promise<readonly TextRow[]> {
  const config = { text, values: [...values], types: AS_TEXT };
  const bounded = boundedClass(client);
  // Not `pg`'s JavaScript client. The limits are then those of the pool.
  if (bounded === undefined) return limits.access === "read" ? readOnly(client, config) : plain(client, config);
  return new Promise((resolve, reject) => {
    const callback = (error: Error | null, answered?: Answered | readonly Answered[]): void => {
      const own = (Array.isArray(answered) ? answered.at(-1) : answered) as Answered | undefined;
      if (error) reject(error);
      else resolve(own?.rows ?? []);
    };
    // Without values `pg` would send plain text, in which nothing can go before it.
    client.query(new bounded({ ...config, queryMode: "extended", callback }, limits) as never);
  });
}

const plain = async (client: PostgresClient, query: PostgresQuery): Promise<readonly TextRow[]> =>
  ((await client.query(query)) as Answered).rows;

/** What fails in between costs the connection, and the transaction with it. */
async function readOnly(client: PostgresClient, query: PostgresQuery): Promise<readonly TextRow[]> {
  await client.query({ text: "BEGIN READ ONLY" });
  const rows = await plain(client, query);
  await client.query({ text: "COMMIT" });
  return rows;
}

type BoundedQueryClass = new (config: object, limits: Limits) => PgQuery;

const classes = new WeakMap<PgQueryClass, BoundedQueryClass>();

/** Extends the query of the very copy of `pg` that the client is of. */
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

    /** Older versions of `pg` know no `queryMode`. */
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

/** Answers with no row, so that there is nothing to tell apart from the rows of the other. CASE goes from one WHEN to the next. */
const limitOf = ({ timeoutMs, access }: Limits): string => `SELECT WHERE CASE
  ${access === "read" ? "WHEN set_config('transaction_read_only', 'on', true) IS NULL THEN false" : ""}
  WHEN current_setting('statement_timeout')::interval BETWEEN '1 microsecond' AND '${timeoutMs} milliseconds' THEN false
  ELSE set_config('statement_timeout', '${timeoutMs}', true) IS NULL END`;
