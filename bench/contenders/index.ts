import type { Contender } from "./contender.ts";
import { holdfastFile, holdfastMemory, holdfastSqlite } from "./holdfast.ts";
import { langgraphAsShipped, langgraphSynced } from "./langgraph.ts";
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
