// Written by `npm run sync` from src/backends/registry.ts. Do not edit.

export { FileCheckpointer, type FileCheckpointerOptions } from "./file/checkpointer.ts";
export { HTTPCheckpointer, type HTTPCheckpointerOptions } from "./http/checkpointer.ts";
export { HTTPStore, type HTTPStoreOptions } from "./http/store.ts";
export { MemoryCheckpointer, type MemoryCheckpointerOptions } from "./memory/checkpointer.ts";
export { InMemoryStore, type InMemoryStoreOptions } from "./memory/store.ts";
export { OCIBucketBackend, type OCIBucketOptions, ociBucketCheckpointer } from "./oci/checkpointer.ts";
export { type OpensearchCheckpointerOptions, opensearchCheckpointer } from "./opensearch/checkpointer.ts";
export { type OracleCheckpointerOptions, oracleCheckpointer } from "./oracle/checkpointer.ts";
export { OracleCheckpointSaver, type OracleCheckpointSaverOptions } from "./oracle/saver.ts";
export { OracleStore, type OracleStoreOptions } from "./oracle/store.ts";
export { type PostgresqlCheckpointerOptions, postgresqlCheckpointer } from "./postgres/checkpointer.ts";
export { type PostgresqlStoreOptions, postgresqlStore } from "./postgres/store.ts";
export { type RedisCheckpointerOptions, redisCheckpointer } from "./redis/checkpointer.ts";
export { type RedisStoreOptions, redisStore } from "./redis/store.ts";
export { S3BucketCheckpointer, type S3BucketOptions, s3BucketCheckpointer } from "./s3/checkpointer.ts";
export { type SqliteCheckpointerOptions, sqliteCheckpointer } from "./sqlite/checkpointer.ts";
export { type SqliteStoreOptions, sqliteStore } from "./sqlite/store.ts";
