import type { Contender } from "./contender.ts";
import { holdfastFile, holdfastMemory, holdfastSqlite } from "./holdfast.ts";
import { langgraphAsShipped, langgraphSynced } from "./langgraph.ts";
import { rawInsert } from "./raw-insert.ts";

export const CONTENDERS: readonly Contender[] = [
  holdfastSqlite,
  rawInsert,
  holdfastFile,
  holdfastMemory(),
  langgraphSynced,
  langgraphAsShipped,
];
