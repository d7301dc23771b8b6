import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { CONNECTION_OPTIONS, type SqliteConnection, type SqliteConnectionOptions } from "./connect.ts";
import { SqliteLog } from "./log.ts";
import { sqliteLogOptions } from "./options.ts";

export interface SqliteCheckpointerOptions extends CheckpointerOptions, SqliteConnectionOptions {
  /** The result of `sqliteConnection()`, instead of a `path` or a `database`. It may be shared. */
  readonly connection?: SqliteConnection;
  /** The prefix of the table names. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** How many hits a search ranks at most. Of more it returns the newest first. @default 10000 */
  readonly searchRanksUpTo?: number;
}

/** Keeps threads in one SQLite file. Nothing to install on Node 22 and later; `npm install better-sqlite3@12` on Node 20. */
export function sqliteCheckpointer(options: SqliteCheckpointerOptions = {}): Checkpointer {
  assertOptions("sqliteCheckpointer", options, {
    ...CONNECTION_OPTIONS,
    connection: "object",
    tablePrefix: "string",
    searchRanksUpTo: "number",
  });
  const checked = sqliteLogOptions(options);
  const { access } = checked.connection.settings;
  return new Checkpointer(new SqliteLog(checked), { ...options, access });
}

/** `sqlite:./agents.db`, `sqlite:///var/lib/agents.db`, `sqlite::memory:`; `?tablePrefix=` may follow. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { path, parameters } = parseLocalUrl(url);
  assertParameters(url, parameters, ["tablePrefix"]);
  if (path === "") throw new StateError("INVALID_ARGUMENT", "a sqlite URL needs a file: sqlite:./agents.db");
  return sqliteCheckpointer({ ...options, ...parameters, path });
}
