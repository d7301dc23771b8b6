export { type PostgresqlCheckpointerOptions, postgresqlCheckpointer } from "./checkpointer.ts";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./connect.ts";
export { type PostgresqlDdlOptions, postgresqlDdl } from "./ddl.ts";
