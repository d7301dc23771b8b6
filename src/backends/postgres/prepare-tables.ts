import { StateError } from "../../errors.ts";
import { classify, sqlState } from "./classify.ts";
import { ask, type PostgresClient, type PostgresPool } from "./connect.ts";
import { migrationsFrom, SCHEMA_VERSION, type TableNames } from "./layout.ts";

/** Makes the tables, or brings older ones up to date; refuses those of a newer holdfast. */
export async function prepareTables(pool: PostgresPool, names: TableNames, timeoutMs: number): Promise<void> {
  const version = await versionOf(pool, names, timeoutMs);
  if (version === SCHEMA_VERSION) return;
  assertKnown(version);
  await inTransaction(pool, timeoutMs, async (client) => {
    // Of several processes that start at once one does it, and the others find it done. One lock for the schema, which
    // tables of another prefix may be the first in. It ends with the transaction, so it needs no session of its own.
    const lock = `holdfast ${names.schema}`;
    await ask(client, timeoutMs, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lock]);
    const found = await versionOf(client, names, timeoutMs);
    assertKnown(found);
    if (found === 0) await makeSchema(client, names, timeoutMs);
    if (found < SCHEMA_VERSION) await ask(client, timeoutMs, migrationsFrom(found, names).join(";\n"));
  }).catch((error: unknown) => {
    if (classify(error) === "PERMISSION_DENIED") throw mayNotMake(version, error);
    throw error;
  });
}

/**
 * A connection remembers names that were not there, and hears of new ones only
 * when it locks a table. An advisory lock is none: without a table to read from,
 * whoever waited for it would still not see what the other one made.
 */
const IS_THERE = "SELECT to_regclass($1)::text AS there FROM pg_catalog.pg_class LIMIT 1";

/** 0 when there are no tables. */
async function versionOf(on: Pick<PostgresPool, "query">, names: TableNames, timeoutMs: number): Promise<number> {
  const [found] = await ask(on, timeoutMs, IS_THERE, [names.version]);
  if (found?.["there"] === null) return 0;
  const [row] = await ask(on, timeoutMs, `SELECT version FROM ${names.version}`);
  return Number(row?.["version"] ?? 0);
}

/** Asked first, because a role that may use a schema need not be one that may make it. */
async function makeSchema(client: PostgresClient, { schema }: TableNames, timeoutMs: number): Promise<void> {
  const [found] = await ask(client, timeoutMs, "SELECT to_regnamespace($1)::text AS there", [schema]);
  if (found?.["there"] === null) await ask(client, timeoutMs, `CREATE SCHEMA IF NOT EXISTS ${schema}`);
}

async function inTransaction(
  pool: PostgresPool,
  timeoutMs: number,
  work: (client: PostgresClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  // While it is ours nobody else listens, and an error that nobody listens to ends the process.
  const onError = (error: Error): void => {
    failure = error;
  };
  client.on("error", onError);
  try {
    await ask(client, timeoutMs, "BEGIN");
    await work(client);
    await ask(client, timeoutMs, "COMMIT");
  } catch (error) {
    // The connection goes with it, and the server undoes what it was in the middle of.
    failure ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.removeListener("error", onError);
    client.release(failure);
  }
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
