import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import type { SqliteDatabase } from "./connect.ts";
import { tableNames } from "./layout.ts";
import { logOptions, SqliteLog } from "./log.ts";
import { ddl } from "./parts.ts";

export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./connect.ts";
export { SqliteLog } from "./log.ts";

export interface SqliteCheckpointerOptions extends CheckpointerOptions {
  /**
   * The database file; made when it is not there, its folder is not.
   * `":memory:"` keeps everything in this process. @default "holdfast.db"
   */
  readonly path?: string;
  /**
   * A connection of your own (`node:sqlite` or `better-sqlite3`), instead of a
   * path. It stays yours: its journal, sync and `secure_delete` settings are left as they are,
   * `capabilities.durability` says what they give, and `close()` leaves it open.
   */
  readonly database?: SqliteDatabase;
  /** What the names of the tables begin with. @default "holdfast_" */
  readonly tablePrefix?: string;
  /** How long to wait while another process writes. @default 10000 */
  readonly busyTimeoutMs?: number;
  /**
   * Overwrites what is deleted, in the file and in its write-ahead log, so that
   * nothing readable of it is left. A connection of your own keeps its setting.
   * @default true
   */
  readonly secureDelete?: boolean;
}

/** Keeps threads in one SQLite file. Nothing to install on Node 22 and later; `npm install better-sqlite3@12` on Node 20. */
export function sqliteCheckpointer(options: SqliteCheckpointerOptions = {}): Checkpointer {
  assertOptions("sqliteCheckpointer", options, {
    path: "string",
    database: "object",
    tablePrefix: "string",
    busyTimeoutMs: "number",
    secureDelete: "boolean",
  });
  return new Checkpointer(new SqliteLog(logOptions(options)), options);
}

/** `sqlite:./agents.db`, `sqlite:///var/lib/agents.db`, `sqlite::memory:`; `?tablePrefix=` may follow. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  const { path, parameters } = parseLocalUrl(url);
  assertParameters(url, parameters, ["tablePrefix"]);
  if (path === "") throw new StateError("INVALID_ARGUMENT", "a sqlite URL needs a file: sqlite:./agents.db");
  return sqliteCheckpointer({ ...options, ...parameters, path });
}

export interface SqliteDdlOptions {
  /** The versions of the tables that are there, as the table `<prefix>schema` has them. @default there are no tables */
  readonly from?: Readonly<Record<string, number>>;
}

/** The statements that create the tables, or upgrade those that are there: exactly what is executed on first use. */
export const sqliteDdl = (tablePrefix = "holdfast_", { from }: SqliteDdlOptions = {}): readonly string[] =>
  ddl(tableNames(tablePrefix), from);
