export { type SqliteCheckpointerOptions, sqliteCheckpointer } from "./checkpointer.ts";
export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./connect.ts";
export { type SqliteDdlOptions, sqliteDdl } from "./ddl.ts";
