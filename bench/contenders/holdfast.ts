import { join } from "node:path";
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { type Contender, type OpenContender, THREAD } from "./contender.ts";

const HISTORY = 1000;

export const holdfastSqlite: Contender = {
  name: "holdfast sqlite",
  durability: "fsync",
  open: async (directory) => driven(sqliteCheckpointer({ path: join(directory, "holdfast.db") })),
};

export const holdfastFile: Contender = {
  name: "holdfast file",
  durability: "fsync",
  open: async (directory) => driven(new FileCheckpointer({ directory })),
};

/** Memory ends with its instance, so one instance serves each directory. */
export function holdfastMemory(): Contender {
  const instances = new Map<string, MemoryCheckpointer>();
  return {
    name: "holdfast memory",
    durability: "none",
    open: async (directory) => {
      const known = instances.get(directory) ?? new MemoryCheckpointer();
      instances.set(directory, known);
      return { ...driven(known), close: async () => undefined };
    },
  };
}

/** A checkpointer as a contender. */
export function driven(checkpointer: Checkpointer): OpenContender {
  let state = AgentState.create();
  return {
    append: async (message) => {
      state = state.withMessage(message);
      await checkpointer.save(state, THREAD);
    },
    load: async () => (await checkpointer.load(THREAD))?.messages.length ?? 0,
    listHistory: async () => (await checkpointer.listCheckpoints(THREAD, { limit: HISTORY })).length,
    close: async () => {
      // An index that is brought up to date by the next search would be missing from the bytes.
      if (checkpointer.capabilities.searchMethod === "index") await checkpointer.search("word");
      await checkpointer.close();
    },
  };
}
