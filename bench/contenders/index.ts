import type { Contender } from "./contender.ts";
import { dbosSteps } from "./dbos.ts";
import { holdfastFile, holdfastMemory, holdfastSqlite } from "./holdfast.ts";
import { holdfastSaverPostgres, holdfastSaverSqlite, holdfastSealed } from "./holdfast-facets.ts";
import { langgraphAsShipped, langgraphSynced } from "./langgraph.ts";
import { mastraLibSql, mastraPostgres } from "./mastra.ts";
import { openaiMemorySession } from "./openai-session.ts";
import { holdfastPostgres, langgraphPostgres, rawPostgres } from "./postgres.ts";
import { rawInsert } from "./raw-insert.ts";
import { holdfastRedis, rawEval } from "./redis.ts";

export const CONTENDERS: readonly Contender[] = [
  holdfastSqlite,
  rawInsert,
  holdfastFile,
  holdfastMemory(),
  langgraphSynced,
  langgraphAsShipped,
];

/** Those that need a server, which bench/servers.ts starts. */
export const SERVER_CONTENDERS: readonly Contender[] = [
  holdfastPostgres,
  rawPostgres,
  langgraphPostgres,
  holdfastRedis,
  rawEval,
];

/** What a user would pick instead, each beside ours of the same durability: bench/peers.ts. */
export const PEERS: Readonly<Record<"local" | "postgres", readonly Contender[]>> = {
  local: [
    holdfastSqlite,
    holdfastSealed(),
    holdfastSaverSqlite,
    langgraphSynced,
    mastraLibSql,
    holdfastMemory(),
    openaiMemorySession(),
  ],
  postgres: [holdfastPostgres, holdfastSaverPostgres, langgraphPostgres, mastraPostgres, dbosSteps],
};
