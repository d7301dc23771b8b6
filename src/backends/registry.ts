import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../checkpoint/context.ts";

/** What a backend's `index.ts` offers to those who only have a URL. */
export interface BackendModule {
  /** A checkpointer for a URL with one of the backend's schemes. Opens nothing until it is used. */
  openUrl(url: string, options?: CheckpointerOptions): Checkpointer;
}

export interface BackendEntry {
  readonly schemes: readonly string[];
  /** An example, for messages and docs. */
  readonly example: string;
  readonly load: () => Promise<BackendModule>;
  /** Client packages, with the versions that work. */
  readonly peers: Readonly<Record<string, string>>;
  /** One of the packages will do. */
  readonly eitherPeer?: true;
  /** What it can is what the storage can that it leads to. */
  readonly capabilities?: "remote";
  /** How far a save can be trusted is for the server's settings to say; known after contact. */
  readonly durability?: "configured";
}

/** One line a backend. package.json's exports and peers, and the README's table, are written from it. */
export const BACKENDS: Readonly<Record<string, BackendEntry>> = {
  memory: { schemes: ["memory"], example: "memory:", load: () => import("./memory/checkpointer.ts"), peers: {} },
  file: { schemes: ["file"], example: "file:./threads", load: () => import("./file/checkpointer.ts"), peers: {} },
  sqlite: {
    schemes: ["sqlite"],
    example: "sqlite:./agents.db",
    load: () => import("./sqlite/checkpointer.ts"),
    peers: { "better-sqlite3": ">=12.8 <14" },
  },
  postgres: {
    schemes: ["postgres", "postgresql"],
    example: "postgres://localhost:5432/agents",
    load: () => import("./postgres/checkpointer.ts"),
    peers: { pg: ">=8.11 <9" },
    durability: "configured",
  },
  redis: {
    schemes: ["redis", "rediss", "valkey", "valkeys"],
    example: "redis://localhost:6379",
    load: () => import("./redis/checkpointer.ts"),
    peers: { ioredis: ">=5.2.6 <7", redis: ">=5 <7" },
    eitherPeer: true,
    durability: "configured",
  },
  opensearch: {
    schemes: ["opensearch", "opensearch+https", "opensearch+http"],
    example: "opensearch://localhost:9200/holdfast",
    load: () => import("./opensearch/checkpointer.ts"),
    peers: { "@opensearch-project/opensearch": ">=3 <4" },
    durability: "configured",
  },
  oci: {
    schemes: ["oci"],
    example: "oci://my-bucket/prod",
    load: () => import("./oci/checkpointer.ts"),
    peers: { "oci-objectstorage": ">=2.90 <3", "oci-common": ">=2.90 <3" },
  },
  s3: {
    schemes: ["s3"],
    example: "s3://my-bucket/prod",
    load: () => import("./s3/checkpointer.ts"),
    peers: { "@aws-sdk/client-s3": ">=3.700 <4" },
    durability: "configured",
  },
  http: {
    schemes: ["http", "https"],
    example: "https://state.example.com",
    load: () => import("./http/checkpointer.ts"),
    peers: {},
    capabilities: "remote",
  },
};
