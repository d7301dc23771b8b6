import {
  assertMigrated,
  knownVersions,
  type MigratedStore,
  migrate,
  type Part,
  type Versions,
} from "../../driver/migrations.ts";
import { type Bounds, type Connection, onConnection } from "./ask.ts";
import { classify } from "./classify.ts";
import type { PostgresPool } from "./connect.ts";
import type { TableNames } from "./layout.ts";
import { allParts, createSchema, versionTable } from "./parts.ts";

/** Creates the tables of a part on first use, or migrates older ones. With read access it only checks them. */
export function prepareTables(pool: PostgresPool, names: TableNames, bounds: Bounds, part: Part): Promise<void> {
  const store = migratedStore(pool, names, bounds);
  if (bounds.access !== "read") return migrate(store, [part]);
  return assertMigrated(store, [part], `the schema ${names.schema}, with the tablePrefix "${names.prefix}",`);
}

export function migratedStore(pool: PostgresPool, names: TableNames, bounds: Bounds): MigratedStore {
  const connected = <T>(work: (connection: Connection) => Promise<T>): Promise<T> => onConnection(pool, bounds, work);
  return {
    table: versionTable(names),
    versions: () => connected((connection) => versionsIn(connection, names)),
    mayCreate: () => connected((connection) => mayCreate(connection, names)),
    change: (plan) =>
      connected((connection) =>
        inTransaction(connection, bounds, async () => {
          // When several processes start at once, one migrates and the others find it done. There is one lock per schema,
          // because another prefix may be creating the same schema. It is released with the transaction, so it needs no
          // session.
          await connection.ask("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`holdfast ${names.schema}`]);
          const statements = plan(await versionsIn(connection, names));
          if (statements.length > 0 && !(await isSchemaThere(connection, names))) {
            await connection.ask(createSchema(names));
          }
          for (const statement of statements) await connection.ask(statement);
        }),
      ),
    remedy: (found) => {
      const from = found && `{ from: ${JSON.stringify(knownVersions(found, allParts(names)))} }`;
      const place = `for the schema ${names.schema} and the tablePrefix "${names.prefix}"`;
      return `run the statements of postgresqlDdl(${from ?? ""}) ${place} as their owner, with this role as its role`;
    },
    classify,
  };
}

/**
 * A connection caches that a name does not exist, and learns of new names only when
 * it locks a table. An advisory lock does not lock a table. Without a table to read
 * from, a process that waited for the lock would still not see what the other one
 * created.
 */
const IS_THERE = "SELECT to_regclass($1)::text AS there FROM pg_catalog.pg_class LIMIT 1";

async function versionsIn(connection: Connection, names: TableNames): Promise<Versions | undefined> {
  const [found] = await connection.ask(IS_THERE, [names.version]);
  if (found?.["there"] === null) return undefined;
  const rows = await connection.ask(`SELECT part, version FROM ${names.version}`);
  return Object.fromEntries(rows.map((row) => [row["part"] ?? "", Number(row["version"])]));
}

/** Whether the role may create in the schema, or create the schema if it does not exist. */
async function mayCreate(connection: Connection, { schema }: TableNames): Promise<boolean> {
  const [row] = await connection.ask(
    `SELECT coalesce(has_schema_privilege(to_regnamespace($1)::oid, 'CREATE'),
       has_database_privilege(current_database(), 'CREATE')) AS may`,
    [schema],
  );
  return row?.["may"] === "t";
}

async function isSchemaThere(connection: Connection, { schema }: TableNames): Promise<boolean> {
  const [found] = await connection.ask("SELECT to_regnamespace($1)::text AS there", [schema]);
  return found?.["there"] !== null;
}

/** After a failure the connection is discarded, so the server rolls back; also when this process dies. */
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
