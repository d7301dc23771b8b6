// Written by `npm run sync` from src/backends/registry.ts. Do not edit.

import type { KnownClient } from "./known-client.ts";

export const CLIENTS: readonly KnownClient[] = [
  { what: "a SQLite database", instead: "sqliteCheckpointer({ database })", methods: [["prepare", "exec"]] },
  {
    what: "a PostgreSQL pool or client",
    instead: "postgresqlCheckpointer({ pool })",
    methods: [["query", "connect", "end"]],
    without: ["getConnection"],
  },
  {
    what: "a MySQL pool",
    instead: "mysqlCheckpointer({ pool })",
    methods: [["getConnection", "query", "execute", "end"]],
  },
  {
    what: "an Oracle pool",
    instead: "oracleCheckpointer({ pool })",
    methods: [["getConnection", "close", "reconfigure"]],
  },
  {
    what: "a Redis client",
    instead: "redisCheckpointer({ client })",
    methods: [
      ["get", "set", "hset"],
      ["get", "set", "hSet"],
    ],
  },
  {
    what: "an OpenSearch client",
    instead: "opensearchCheckpointer({ client })",
    methods: [["search", "bulk"]],
    objects: ["indices"],
  },
  {
    what: "an OCI Object Storage client",
    instead: "ociBucketCheckpointer({ client })",
    methods: [["putObject", "getObject", "getNamespace"]],
  },
];

/** Options that give away whose they are. */
export const OPTIONS: readonly (readonly [option: string, call: string])[] = [
  ["directory", "new FileCheckpointer({ directory })"],
  ["dsn", "postgresqlCheckpointer({ dsn })"],
  ["pool", "postgresqlCheckpointer({ pool })"],
  ["walletLocation", "oracleCheckpointer({ dsn, user, password, walletLocation, … })"],
  ["client", "redisCheckpointer({ client })"],
  ["client", "opensearchCheckpointer({ client })"],
  ["bucketName", "ociBucketCheckpointer({ bucketName, … })"],
  ["bucketName", "s3BucketCheckpointer({ bucketName, … })"],
  ["tableName", "dynamodbCheckpointer({ tableName, … })"],
  ["baseUrl", "new HTTPCheckpointer({ baseUrl })"],
];
