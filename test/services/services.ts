import { canHaveDynamodb, HOW_TO_GET_DYNAMODB, startDynamodb } from "./dynamodb.ts";
import { findMariadb, HOW_TO_GET_MARIADB, startMariadb } from "./mariadb.ts";
import { canHaveOpensearch, HOW_TO_GET_OPENSEARCH, startOpensearch } from "./opensearch.ts";
import { canHavePgvector, HOW_TO_GET_PGVECTOR } from "./pgvector.ts";
import { findPostgres, HOW_TO_GET_POSTGRES, startPostgres } from "./postgres.ts";
import { findRedis, HOW_TO_GET_REDIS, startRedis } from "./redis.ts";
import { canHaveS3, HOW_TO_GET_S3, startS3 } from "./s3.ts";
import type { TestServer } from "./server-process.ts";

export type ServiceName = "postgres" | "pgvector" | "mysql" | "redis" | "opensearch" | "s3" | "dynamodb";

/** A kind of server that suites ask for by name. */
export interface Service {
  /** The environment variable with the URL of one that runs already. */
  readonly variable: string;
  /** One sentence for readers that have none. */
  readonly howToGet: string;
  /** Looks for a program; starts nothing. */
  readonly isHere: () => Promise<boolean>;
  readonly start: () => Promise<TestServer>;
}

/** One entry a service: its file in this folder says where it comes from. */
export const SERVICES: Readonly<Record<ServiceName, Service>> = {
  postgres: {
    variable: "HOLDFAST_TEST_POSTGRES_URL",
    howToGet: HOW_TO_GET_POSTGRES,
    isHere: async () => (await findPostgres()) !== undefined,
    start: startPostgres,
  },
  pgvector: {
    variable: "HOLDFAST_TEST_PGVECTOR_URL",
    howToGet: HOW_TO_GET_PGVECTOR,
    isHere: canHavePgvector,
    start: () => startPostgres({ pgvector: true }),
  },
  mysql: {
    variable: "HOLDFAST_TEST_MYSQL_URL",
    howToGet: HOW_TO_GET_MARIADB,
    isHere: async () => (await findMariadb()) !== undefined,
    start: startMariadb,
  },
  redis: {
    variable: "HOLDFAST_TEST_REDIS_URL",
    howToGet: HOW_TO_GET_REDIS,
    isHere: async () => (await findRedis()) !== undefined,
    start: startRedis,
  },
  opensearch: {
    variable: "HOLDFAST_TEST_OPENSEARCH_URL",
    howToGet: HOW_TO_GET_OPENSEARCH,
    isHere: canHaveOpensearch,
    start: startOpensearch,
  },
  s3: {
    variable: "HOLDFAST_TEST_S3_URL",
    howToGet: HOW_TO_GET_S3,
    isHere: canHaveS3,
    start: startS3,
  },
  dynamodb: {
    variable: "HOLDFAST_TEST_DYNAMODB_URL",
    howToGet: HOW_TO_GET_DYNAMODB,
    isHere: canHaveDynamodb,
    start: startDynamodb,
  },
};

export const isServiceName = (name: string): name is ServiceName => Object.hasOwn(SERVICES, name);

/** Which servers this run may use: `npm test` has PostgreSQL from its npm package at most, the other tiers what is named or all. */
export function isWanted(name: ServiceName): boolean {
  if (process.env["HOLDFAST_TIER"] === "fast") return name === "postgres";
  const names = process.env["HOLDFAST_TEST_SERVICES"] ?? "";
  return names === "" || names.split(",").includes(name);
}

/** Why a suite is not run although its server may be here. */
export const NOT_WANTED = "left to npm run test:servers";

/** What else may be required: no server, and looked for by the suites that need it. */
const PROGRAMS: readonly string[] = ["chromium"];

/** Services that must be there: where one of them is not, the run fails instead of skipping. */
export function requiredServices(): readonly ServiceName[] {
  const names = (process.env["HOLDFAST_TEST_REQUIRE"] ?? "").split(",").map((name) => name.trim());
  return names
    .filter((name) => name !== "" && !PROGRAMS.includes(name))
    .map((name) => {
      if (isServiceName(name)) return name;
      throw new Error(`HOLDFAST_TEST_REQUIRE names "${name}"; there are ${Object.keys(SERVICES).join(", ")}`);
    });
}
