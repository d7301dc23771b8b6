import { StateError } from "../../errors.ts";
import { type Bounds, type Connection, onConnection } from "./ask.ts";
import { classify, sqlState } from "./classify.ts";
import type { PostgresPool } from "./connect.ts";
import { migrationsFrom, SCHEMA_VERSION, type TableNames } from "./layout.ts";

/** Makes the tables, or brings older ones up to date; refuses those of a newer holdfast. */
export async function prepareTables(pool: PostgresPool, names: TableNames, bounds: Bounds): Promise<void> {
  const version = await onConnection(pool, bounds, (connection) => versionOf(connection, names));
  if (version === SCHEMA_VERSION) return;
  assertKnown(version);
  const making = onConnection(pool, bounds, (connection) =>
    inTransaction(connection, bounds, () => make(connection, names)),
  );
  await making.catch((error: unknown) => {
    if (classify(error) === "PERMISSION_DENIED") throw mayNotMake(version, error);
    throw error;
  });
}

async function make(connection: Connection, names: TableNames): Promise<void> {
  // Of several processes that start at once one does it, and the others find it done. One lock for the schema, which
  // tables of another prefix may be the first in. It ends with the transaction, so it needs no session of its own.
  await connection.ask("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`holdfast ${names.schema}`]);
  const found = await versionOf(connection, names);
  assertKnown(found);
  if (found === 0) await makeSchema(connection, names);
  if (found < SCHEMA_VERSION) await connection.ask(inOneBlock(migrationsFrom(found, names)));
}

/** One round trip for all of them: others wait for the lock meanwhile. */
const inOneBlock = (statements: readonly string[]): string =>
  `DO $holdfast$ BEGIN\n${statements.map((statement) => `${statement};\n`).join("")}END $holdfast$`;

/**
 * A connection remembers names that were not there, and hears of new ones only
 * when it locks a table. An advisory lock is none: without a table to read from,
 * whoever waited for it would still not see what the other one made.
 */
const IS_THERE = "SELECT to_regclass($1)::text AS there FROM pg_catalog.pg_class LIMIT 1";

/** 0 when there are no tables. */
async function versionOf(connection: Connection, names: TableNames): Promise<number> {
  const [found] = await connection.ask(IS_THERE, [names.version]);
  if (found?.["there"] === null) return 0;
  const [row] = await connection.ask(`SELECT version FROM ${names.version}`);
  return Number(row?.["version"] ?? 0);
}

/** Asked first, because a role that may use a schema need not be one that may make it. */
async function makeSchema(connection: Connection, { schema }: TableNames): Promise<void> {
  const [found] = await connection.ask("SELECT to_regnamespace($1)::text AS there", [schema]);
  if (found?.["there"] === null) await connection.ask(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
}

/** What fails in between costs the connection, and the server undoes the rest; also when this process is gone. */
async function inTransaction(
  connection: Connection,
  { statementTimeoutMs }: Bounds,
  work: () => Promise<void>,
): Promise<void> {
  await connection.ask("BEGIN");
  await connection.ask("SELECT set_config('idle_in_transaction_session_timeout', $1, true)", [
    String(statementTimeoutMs),
  ]);
  await work();
  await connection.ask("COMMIT");
}

function assertKnown(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new StateError(
    "INCOMPATIBLE",
    `the tables have version ${version}; this build knows up to ${SCHEMA_VERSION}. Upgrade holdfast to open them`,
  );
}

function mayNotMake(version: number, cause: unknown): StateError {
  const what = version === 0 ? "the tables are not there" : `the tables have version ${version}`;
  const state = sqlState(cause) ?? "";
  return new StateError(
    "PERMISSION_DENIED",
    `${what}, and this role may not make or change them (${state}): run the statements of postgresqlDdl() as one that may`,
    { cause },
  );
}
