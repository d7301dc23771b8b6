import type { Access } from "../../driver/access.ts";
import { assertMigrated, knownVersions, type MigratedStore, migrate, type Versions } from "../../driver/migrations.ts";
import { StateError } from "../../errors.ts";
import type { Asking } from "./ask.ts";
import { text as textBind } from "./binds.ts";
import { classify, isOra } from "./classify.ts";
import type { OracleHandle } from "./handle.ts";
import type { TableNames } from "./layout.ts";
import { allParts, type OraclePart, versionTable } from "./parts.ts";
import { text } from "./rows.ts";

/** Creates the tables of a part on first use, or brings older ones up to date. With read access it only looks at them. */
export function prepareTables(
  handle: OracleHandle,
  names: TableNames,
  part: OraclePart,
  access: Access,
): Promise<void> {
  const store = migratedStore(handle, names, part);
  if (access !== "read") return migrate(store, [part]);
  return assertMigrated(store, [part], `the schema, with the tableName ${JSON.stringify(names.tableName)},`);
}

/**
 * Every statement of DDL commits by itself, so a migration is not a transaction
 * here: its statements may run again where a process died among them, or beside
 * another process that runs them too. What is there already is left as it is, and
 * the version is written last. So a version is true whenever it is there.
 */
export function migratedStore(handle: OracleHandle, names: TableNames, part: OraclePart): MigratedStore {
  return {
    table: versionTable(names),
    versions: () => handle.onSession((asking) => versionsIn(asking, names)),
    mayCreate: () => handle.onSession((asking) => mayCreate(asking, names)),
    change: (plan) =>
      handle.onSession(async (asking) => {
        const statements = plan(await versionsIn(asking, names));
        await assertShape(asking, names, part);
        for (const statement of statements) await asCreated(() => asking.ask(statement, {}, true));
      }),
    remedy: (found) => {
      const from = found && `, from: ${JSON.stringify(knownVersions(found, allParts(names)))}`;
      return `run the statements of oracleDdl({ tableName: ${JSON.stringify(names.tableName)}, role${from ?? ""} }) as the owner of the tables, with this user as the role`;
    },
    classify,
  };
}

/** Name used, index or column there already, and the row of the version that another process wrote first. */
const THERE_ALREADY = [955, 1408, 1430, 2260, 2261, 2264, 2275, 1];
/** Another process is at the same table. */
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

async function versionsIn(asking: Asking, names: TableNames): Promise<Versions | undefined> {
  try {
    const { rows } = await asking.ask(`SELECT part, version FROM ${names.version}`);
    return Object.fromEntries(rows.map((row) => [text(row, "PART") ?? "", Number(row["VERSION"])]));
  } catch (error) {
    // Not there, or not for this user: the server does not say which.
    if (isOra(error, 942)) return undefined;
    throw error;
  }
}

/** In the schema of this user; or in another one, where that is the owner. */
export const MAY_CREATE = `SELECT COUNT(*) AS may FROM session_privs
WHERE privilege = 'CREATE ANY TABLE' OR (privilege = 'CREATE TABLE' AND (:b_owner IS NULL OR :b_owner = USER))`;

async function mayCreate(asking: Asking, { owner }: TableNames): Promise<boolean> {
  const { rows } = await asking.ask(MAY_CREATE, { b_owner: textBind(owner) });
  return Number(rows[0]?.["MAY"]) > 0;
}

export const COLUMNS_OF = `SELECT column_name FROM all_tab_columns
WHERE owner = COALESCE(:b_owner, USER) AND table_name = :b_table ORDER BY column_name`;

/** A table of this name that somebody else made is left alone, and named: nothing is created beside it. */
async function assertShape(asking: Asking, names: TableNames, part: OraclePart): Promise<void> {
  for (const [table, columns] of Object.entries(part.columns)) {
    const binds = { b_owner: textBind(names.owner), b_table: textBind(table.split(".").at(-1)) };
    const { rows } = await asking.ask(COLUMNS_OF, binds);
    const found = rows.map((row) => text(row, "COLUMN_NAME") ?? "");
    if (found.length === 0 || columns.every((column) => found.includes(column))) continue;
    throw new StateError(
      "INCOMPATIBLE",
      `the table ${table} is there and is not one of the part "${part.name}": it has the columns ${found.join(", ")}. Choose another tableName`,
    );
  }
}
