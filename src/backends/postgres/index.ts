export { type PostgresqlCheckpointerOptions, postgresqlCheckpointer } from "./checkpointer.ts";
export {
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresqlConnection,
  type PostgresqlConnectionOptions,
  postgresqlConnection,
} from "./connect.ts";
export { type PostgresqlDdlOptions, postgresqlDdl } from "./ddl.ts";
export { type PostgresqlStoreOptions, postgresqlStore } from "./store.ts";
