export { type SqliteCheckpointerOptions, sqliteCheckpointer } from "./checkpointer.ts";
export {
  type SqliteConnection,
  type SqliteConnectionOptions,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  sqliteConnection,
} from "./connect.ts";
export { type SqliteDdlOptions, sqliteDdl } from "./ddl.ts";
export { type SqliteStoreOptions, sqliteStore } from "./store.ts";
