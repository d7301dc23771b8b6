import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { type Contender, type OpenContender, THREAD } from "./contender.ts";
import { driveSaver } from "./langgraph-run.ts";

/** As it is shipped: WAL with better-sqlite3's synchronous=NORMAL, where a power cut takes the last saves along. */
export const langgraphAsShipped: Contender = {
  name: "LangGraph SqliteSaver",
  durability: "os",
  open: (directory) => openSaver(directory, "NORMAL"),
};

export const langgraphSynced: Contender = {
  name: "LangGraph SqliteSaver, synchronous=FULL",
  durability: "fsync",
  open: (directory) => openSaver(directory, "FULL"),
};

async function openSaver(directory: string, synchronous: "NORMAL" | "FULL"): Promise<OpenContender> {
  const saver = SqliteSaver.fromConnString(join(directory, "langgraph.db"));
  saver.db.pragma(`synchronous = ${synchronous}`);
  return driveSaver(saver, THREAD, async () => {
    saver.db.close();
  });
}
