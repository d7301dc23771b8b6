export { type MysqlCheckpointerOptions, mysqlCheckpointer } from "./checkpointer.ts";
export { type MysqlConnection, type MysqlConnectionOptions, mysqlConnection } from "./connect.ts";
export { type MysqlStoreOptions, mysqlStore } from "./store.ts";
export { type MysqlDdlOptions, mysqlDdl } from "./tables.ts";
