import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../checkpoint/context.ts";
import type { KnownClient } from "../checkpoint/known-client.ts";
import type { Access } from "../driver/access.ts";
import type { OpenTables } from "../driver/open-tables.ts";
import type { ErrorCode } from "../errors.ts";
import type { StoreOptions } from "../store/items/store-access.ts";
import type { Store } from "../store/store.ts";

/** What a backend's `checkpointer.ts` offers for opening a URL. */
export interface BackendModule {
  /** A checkpointer for a URL with one of the backend's schemes. Opens nothing until it is used. */
  openUrl(url: string, options?: CheckpointerOptions): Checkpointer;
}

/** How to recognise a client or options of a backend where a checkpointer is expected: the message then says what to write. */
export interface BackendHints {
  readonly client?: KnownClient;
  /** An option that identifies the backend, and the call that takes it. */
  readonly options?: Readonly<Record<string, string>>;
}

/** What a backend's `store.ts` offers for opening a URL. */
export interface StoreModule {
  /** A store for a URL with one of the backend's schemes. Opens nothing until it is used. */
  openStoreUrl(url: string, options?: StoreOptions): Store;
}

/** A backend that also keeps items. */
export interface StoreEntry {
  /** The names in `holdfast/backends`, as `store.ts` exports them. */
  readonly names: { readonly values: readonly string[]; readonly types: readonly string[] };
  readonly load: () => Promise<StoreModule>;
}

/** What a backend's `tables.ts` offers: the tables alone, for `holdfast migrate`. */
export interface TablesModule {
  openTables(url: string, access: Access): Promise<OpenTables>;
  classify(error: unknown): ErrorCode | undefined;
}

export interface BackendEntry {
  /** The name that people use. */
  readonly title: string;
  /** The names in `holdfast/backends`, as `checkpointer.ts` exports them. Everything else is in the backend's subpath. */
  readonly names: { readonly values: readonly string[]; readonly types: readonly string[] };
  readonly hints?: BackendHints;
  readonly schemes: readonly string[];
  /** An example, for messages and docs. */
  readonly example: string;
  readonly load: () => Promise<BackendModule>;
  /** Absent if the backend keeps threads only. */
  readonly store?: StoreEntry;
  /** The names in `holdfast/backends`, as `saver.ts` exports them, if a saver has its own tables. */
  readonly saver?: { readonly values: readonly string[]; readonly types: readonly string[] };
  /** Absent if there is no schema to migrate. */
  readonly tables?: () => Promise<TablesModule>;
  /** Client packages, with the supported versions. */
  readonly peers: Readonly<Record<string, string>>;
  /** Where the runtime has what the packages are for, so that none is needed. */
  readonly builtIn?: string;
  /** One of the packages is enough. */
  readonly eitherPeer?: true;
  /** Its URL names a place on this machine. */
  readonly isLocal?: true;
  /** Its capabilities are those of the storage behind it. */
  readonly capabilities?: "remote";
  /** The durability depends on the server's settings; known after contact. */
  readonly durability?: "configured";
}

/**
 * The only list of backends, one entry each. `npm run sync` generates from it the
 * package's exports and peers, the names of `holdfast/backends` (`entry/backends.ts`), the hints of
 * `assertCheckpointer` and the README's table.
 */
export const BACKENDS: Readonly<Record<string, BackendEntry>> = {
  memory: {
    title: "Memory",
    names: { values: ["MemoryCheckpointer"], types: ["MemoryCheckpointerOptions"] },
    schemes: ["memory"],
    example: "memory:",
    load: () => import("./memory/checkpointer.ts"),
    store: {
      names: { values: ["InMemoryStore"], types: ["InMemoryStoreOptions"] },
      load: () => import("./memory/store.ts"),
    },
    peers: {},
  },
  file: {
    title: "Files",
    names: { values: ["FileCheckpointer"], types: ["FileCheckpointerOptions"] },
    hints: { options: { directory: "new FileCheckpointer({ directory })" } },
    schemes: ["file"],
    example: "file:./threads",
    isLocal: true,
    load: () => import("./file/checkpointer.ts"),
    store: {
      names: { values: ["fileStore"], types: ["FileStoreOptions"] },
      load: () => import("./file/store.ts"),
    },
    peers: {},
  },
  sqlite: {
    title: "SQLite",
    names: { values: ["sqliteCheckpointer"], types: ["SqliteCheckpointerOptions"] },
    hints: {
      client: {
        what: "a SQLite database",
        instead: "sqliteCheckpointer({ database })",
        methods: [["prepare", "exec"]],
      },
    },
    schemes: ["sqlite"],
    example: "sqlite:./agents.db",
    isLocal: true,
    load: () => import("./sqlite/checkpointer.ts"),
    store: {
      names: { values: ["sqliteStore"], types: ["SqliteStoreOptions"] },
      load: () => import("./sqlite/store-opening.ts"),
    },
    tables: () => import("./sqlite/tables.ts"),
    peers: { "better-sqlite3": ">=12.8 <14" },
    builtIn: "from Node 22.13 on",
  },
  postgres: {
    title: "PostgreSQL",
    names: { values: ["postgresqlCheckpointer"], types: ["PostgresqlCheckpointerOptions"] },
    hints: {
      client: {
        what: "a PostgreSQL pool or client",
        instead: "postgresqlCheckpointer({ pool })",
        methods: [["query", "connect", "end"]],
        // The pools of MySQL and Oracle have it.
        without: ["getConnection"],
      },
      options: { dsn: "postgresqlCheckpointer({ dsn })", pool: "postgresqlCheckpointer({ pool })" },
    },
    schemes: ["postgres", "postgresql"],
    example: "postgres://localhost:5432/agents",
    load: () => import("./postgres/checkpointer.ts"),
    store: {
      names: { values: ["postgresqlStore"], types: ["PostgresqlStoreOptions"] },
      load: () => import("./postgres/store.ts"),
    },
    tables: () => import("./postgres/tables.ts"),
    peers: { pg: ">=8.11 <9" },
    durability: "configured",
  },
  mysql: {
    title: "MySQL / MariaDB",
    names: { values: ["mysqlCheckpointer"], types: ["MysqlCheckpointerOptions"] },
    hints: {
      client: {
        what: "a MySQL pool",
        instead: "mysqlCheckpointer({ pool })",
        methods: [["getConnection", "query", "execute", "end"]],
      },
    },
    schemes: ["mysql", "mariadb"],
    example: "mysql://agents@localhost:3306/agents",
    load: () => import("./mysql/checkpointer.ts"),
    store: {
      names: { values: ["mysqlStore"], types: ["MysqlStoreOptions"] },
      load: () => import("./mysql/store.ts"),
    },
    tables: () => import("./mysql/tables.ts"),
    peers: { mysql2: ">=3.11 <4" },
    durability: "configured",
  },
  oracle: {
    title: "Oracle Database",
    names: { values: ["oracleCheckpointer"], types: ["OracleCheckpointerOptions"] },
    hints: {
      client: {
        what: "an Oracle pool",
        instead: "oracleCheckpointer({ pool })",
        methods: [["getConnection", "close", "reconfigure"]],
      },
      options: { walletLocation: "oracleCheckpointer({ dsn, user, password, walletLocation, … })" },
    },
    schemes: ["oracle"],
    example: "oracle://agents@localhost:1521/FREEPDB1",
    load: () => import("./oracle/checkpointer.ts"),
    saver: { values: ["OracleCheckpointSaver"], types: ["OracleCheckpointSaverOptions"] },
    store: {
      names: { values: ["OracleStore"], types: ["OracleStoreOptions"] },
      load: () => import("./oracle/store.ts"),
    },
    tables: () => import("./oracle/tables.ts"),
    peers: { oracledb: ">=6 <27" },
  },
  redis: {
    title: "Redis",
    names: { values: ["redisCheckpointer"], types: ["RedisCheckpointerOptions"] },
    hints: {
      client: {
        what: "a Redis client",
        instead: "redisCheckpointer({ client })",
        methods: [
          ["get", "set", "hset"],
          ["get", "set", "hSet"],
        ],
      },
      options: { client: "redisCheckpointer({ client })" },
    },
    schemes: ["redis", "rediss", "valkey", "valkeys"],
    example: "redis://localhost:6379",
    load: () => import("./redis/checkpointer.ts"),
    store: {
      names: { values: ["redisStore"], types: ["RedisStoreOptions"] },
      load: () => import("./redis/store.ts"),
    },
    peers: { ioredis: ">=5.2.6 <7", redis: ">=5 <7" },
    eitherPeer: true,
    durability: "configured",
  },
  opensearch: {
    title: "OpenSearch",
    names: { values: ["opensearchCheckpointer"], types: ["OpensearchCheckpointerOptions"] },
    hints: {
      client: {
        what: "an OpenSearch client",
        instead: "opensearchCheckpointer({ client })",
        methods: [["search", "bulk"]],
        objects: ["indices"],
      },
      options: { client: "opensearchCheckpointer({ client })" },
    },
    schemes: ["opensearch", "opensearch+https", "opensearch+http"],
    example: "opensearch://localhost:9200/holdfast",
    load: () => import("./opensearch/checkpointer.ts"),
    peers: { "@opensearch-project/opensearch": ">=3 <4" },
    durability: "configured",
  },
  oci: {
    title: "OCI Object Storage",
    names: { values: ["OCIBucketBackend", "ociBucketCheckpointer"], types: ["OCIBucketOptions"] },
    hints: {
      client: {
        what: "an OCI Object Storage client",
        instead: "ociBucketCheckpointer({ client })",
        methods: [["putObject", "getObject", "getNamespace"]],
      },
      options: { bucketName: "ociBucketCheckpointer({ bucketName, … })" },
    },
    schemes: ["oci"],
    example: "oci://my-bucket/prod",
    load: () => import("./oci/checkpointer.ts"),
    store: {
      names: { values: ["ociStore"], types: ["OCIStoreOptions"] },
      load: () => import("./oci/store.ts"),
    },
    peers: { "oci-objectstorage": ">=2.90 <3", "oci-common": ">=2.90 <3" },
  },
  s3: {
    title: "S3",
    names: { values: ["S3BucketCheckpointer", "s3BucketCheckpointer"], types: ["S3BucketOptions"] },
    hints: { options: { bucketName: "s3BucketCheckpointer({ bucketName, … })" } },
    schemes: ["s3"],
    example: "s3://my-bucket/prod",
    load: () => import("./s3/checkpointer.ts"),
    store: {
      names: { values: ["s3Store"], types: ["S3StoreOptions"] },
      load: () => import("./s3/store.ts"),
    },
    peers: { "@aws-sdk/client-s3": ">=3.700 <4" },
    durability: "configured",
  },
  dynamodb: {
    title: "DynamoDB",
    names: { values: ["DynamodbCheckpointer", "dynamodbCheckpointer"], types: ["DynamodbOptions"] },
    hints: { options: { tableName: "dynamodbCheckpointer({ tableName, … })" } },
    schemes: ["dynamodb"],
    example: "dynamodb://my-table/prod",
    load: () => import("./dynamodb/checkpointer.ts"),
    peers: { "@aws-sdk/client-dynamodb": ">=3.700 <4" },
    durability: "configured",
  },
  http: {
    title: "HTTP",
    names: { values: ["HTTPCheckpointer"], types: ["HTTPCheckpointerOptions"] },
    hints: { options: { baseUrl: "new HTTPCheckpointer({ baseUrl })" } },
    schemes: ["http", "https"],
    example: "https://state.example.com",
    load: () => import("./http/checkpointer.ts"),
    store: {
      names: { values: ["HTTPStore"], types: ["HTTPStoreOptions"] },
      load: () => import("./http/store.ts"),
    },
    peers: {},
    capabilities: "remote",
  },
};
