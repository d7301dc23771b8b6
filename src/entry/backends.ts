// Written by `npm run sync` from src/backends/registry.ts. Do not edit.

export { DynamodbCheckpointer, type DynamodbOptions, dynamodbCheckpointer } from "../backends/dynamodb/checkpointer.ts";
export { FileCheckpointer, type FileCheckpointerOptions } from "../backends/file/checkpointer.ts";
export { type FileStoreOptions, fileStore } from "../backends/file/store.ts";
export { HTTPCheckpointer, type HTTPCheckpointerOptions } from "../backends/http/checkpointer.ts";
export { HTTPStore, type HTTPStoreOptions } from "../backends/http/store.ts";
export { MemoryCheckpointer, type MemoryCheckpointerOptions } from "../backends/memory/checkpointer.ts";
export { InMemoryStore, type InMemoryStoreOptions } from "../backends/memory/store.ts";
export { type MysqlCheckpointerOptions, mysqlCheckpointer } from "../backends/mysql/checkpointer.ts";
export { type MysqlStoreOptions, mysqlStore } from "../backends/mysql/store.ts";
export { OCIBucketBackend, type OCIBucketOptions, ociBucketCheckpointer } from "../backends/oci/checkpointer.ts";
export { type OCIStoreOptions, ociStore } from "../backends/oci/store.ts";
export { type OpensearchCheckpointerOptions, opensearchCheckpointer } from "../backends/opensearch/checkpointer.ts";
export { type OracleCheckpointerOptions, oracleCheckpointer } from "../backends/oracle/checkpointer.ts";
export { OracleCheckpointSaver, type OracleCheckpointSaverOptions } from "../backends/oracle/saver.ts";
export { OracleStore, type OracleStoreOptions } from "../backends/oracle/store.ts";
export { type PostgresqlCheckpointerOptions, postgresqlCheckpointer } from "../backends/postgres/checkpointer.ts";
export { type PostgresqlStoreOptions, postgresqlStore } from "../backends/postgres/store.ts";
export { type RedisCheckpointerOptions, redisCheckpointer } from "../backends/redis/checkpointer.ts";
export { type RedisStoreOptions, redisStore } from "../backends/redis/store.ts";
export { S3BucketCheckpointer, type S3BucketOptions, s3BucketCheckpointer } from "../backends/s3/checkpointer.ts";
export { type S3StoreOptions, s3Store } from "../backends/s3/store.ts";
export { type SqliteCheckpointerOptions, sqliteCheckpointer } from "../backends/sqlite/checkpointer.ts";
export { type SqliteStoreOptions, sqliteStore } from "../backends/sqlite/store.ts";

export { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
export { StorageBackendAdapter, type StorageBackendAdapterOptions } from "../checkpoint/dict/adapter.ts";
export type { DictData, DictStorage } from "../checkpoint/dict/dict-storage.ts";
export { BaseStore } from "../store/base-store.ts";
export { LLMMemoryManager, type LLMMemoryManagerOptions } from "../wiring/llm-memory-manager.ts";
