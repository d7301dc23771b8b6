import type { Access } from "../../driver/access.ts";
import { assertMigrated, knownVersions, type MigratedStore, migrate, type Versions } from "../../driver/migrations.ts";
import type { Asking } from "./ask.ts";
import { text as textBind } from "./binds.ts";
import { classify, isOra } from "./classify.ts";
import type { OracleHandle } from "./handle.ts";
import { type Deployment, versionTable } from "./parts.ts";
import { text } from "./rows.ts";
import { otherTable } from "./table-shapes.ts";

/** Creates the tables on first use, or migrates older ones. With read access it only checks them. */
export function prepareTables(handle: OracleHandle, deployment: Deployment, access: Access): Promise<void> {
  const store = migratedStore(handle, deployment);
  if (access !== "read") return migrate(store, deployment.parts);
  const where = `the schema, with the tableName ${JSON.stringify(deployment.tableName)},`;
  return assertMigrated(store, deployment.parts, where);
}

/**
 * Every DDL statement commits by itself, so a migration is not a transaction here.
 * Its statements may run again if a process died between them, or beside another
 * process that runs them too. What exists already is left unchanged, and the version
 * is written last. So a stored version is always true.
 */
export function migratedStore(handle: OracleHandle, deployment: Deployment): MigratedStore {
  const { tableName, of, parts } = deployment;
  return {
    table: versionTable(deployment),
    versions: () => handle.onSession((asking) => versionsIn(asking, deployment)),
    mayCreate: () => handle.onSession((asking) => mayCreate(asking, deployment)),
    change: (plan) =>
      handle.onSession(async (asking) => {
        const statements = plan(await versionsIn(asking, deployment));
        await assertShapes(asking, deployment);
        for (const statement of statements) await asCreated(() => asking.ask(statement, {}, true));
      }),
    remedy: (found) => {
      const kind = of === "checkpointer" ? "" : `, of: "${of}"`;
      const from = found && `, from: ${JSON.stringify(knownVersions(found, parts))}`;
      return `run the statements of oracleDdl({ tableName: ${JSON.stringify(tableName)}${kind}, role${from ?? ""} }) as the owner of the tables, with this user as the role`;
    },
    classify,
  };
}

/** Name in use, index or column exists, or another process wrote the version's row first. */
const THERE_ALREADY = [955, 1408, 1430, 2260, 2261, 2264, 2275, 1];
/** Another process is changing the same table. */
const BUSY = 54;
const MOST_ATTEMPTS = 20;

async function asCreated(run: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await run();
      return;
    } catch (error) {
      if (isOra(error, ...THERE_ALREADY)) return;
      if (!isOra(error, BUSY) || attempt === MOST_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50 * attempt));
    }
  }
}

async function versionsIn(asking: Asking, { version }: Deployment): Promise<Versions | undefined> {
  try {
    const { rows } = await asking.ask(`SELECT part, version FROM ${version}`);
    return Object.fromEntries(rows.map((row) => [text(row, "PART") ?? "", Number(row["VERSION"])]));
  } catch (error) {
    // The table does not exist, or this user may not see it: the server does not say which.
    if (isOra(error, 942)) return undefined;
    throw error;
  }
}

/** In this user's schema; or in the owner's, if that is another one. */
export const MAY_CREATE = `SELECT COUNT(CASE WHEN privilege LIKE '%TABLE' THEN 1 END) AS tables,
  COUNT(CASE WHEN privilege LIKE '%SEQUENCE' THEN 1 END) AS sequences FROM session_privs
WHERE privilege IN ('CREATE ANY TABLE', 'CREATE ANY SEQUENCE')
  OR (privilege IN ('CREATE TABLE', 'CREATE SEQUENCE') AND (:b_owner IS NULL OR :b_owner = USER))`;

/** Threads are numbered, which takes a sequence. */
async function mayCreate(asking: Asking, { of, owner }: Deployment): Promise<boolean> {
  const [row] = (await asking.ask(MAY_CREATE, { b_owner: textBind(owner) })).rows;
  return Number(row?.["TABLES"]) > 0 && (of === "store" || Number(row?.["SEQUENCES"]) > 0);
}

export const COLUMNS_OF = `SELECT column_name FROM all_tab_columns
WHERE owner = COALESCE(:b_owner, USER) AND table_name = :b_table ORDER BY column_name`;

export async function columnsOf(asking: Asking, owner: string | undefined, table: string): Promise<readonly string[]> {
  const binds = { b_owner: textBind(owner), b_table: textBind(table.split(".").at(-1)) };
  const { rows } = await asking.ask(COLUMNS_OF, binds);
  return rows.map((row) => text(row, "COLUMN_NAME") ?? "");
}

/** A different table of this name is left alone and named in the error: nothing is created beside it. */
async function assertShapes(asking: Asking, deployment: Deployment): Promise<void> {
  for (const [table, columns] of deployment.parts.flatMap((part) => Object.entries(part.columns))) {
    const found = await columnsOf(asking, deployment.owner, table);
    if (found.length === 0 || columns.every((column) => found.includes(column))) continue;
    throw otherTable(deployment, table, columns, found);
  }
}
