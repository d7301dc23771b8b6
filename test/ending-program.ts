/**
 * Uses two checkpointers over one connection and closes neither: the program has
 * to end all the same. `node ending-program.ts <backend> <URL or path>`
 */
import { postgresqlCheckpointer, postgresqlConnection } from "../src/backends/postgres/index.ts";
import { sqliteCheckpointer, sqliteConnection } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";

const [backend = "", place = "", name = "ending"] = process.argv.slice(2);

function two(): readonly Checkpointer[] {
  switch (backend) {
    case "sqlite": {
      const connection = sqliteConnection({ path: place });
      return ["a_", "b_"].map((tablePrefix) => sqliteCheckpointer({ connection, tablePrefix }));
    }
    case "postgres": {
      const connection = postgresqlConnection({ dsn: place });
      return ["a_", "b_"].map((tablePrefix) => postgresqlCheckpointer({ connection, schema: name, tablePrefix }));
    }
    default:
      throw new Error(`no backend ${backend}`);
  }
}

for (const checkpointer of two()) {
  await checkpointer.save(AgentState.create(), "t1");
  console.log((await checkpointer.load("t1")) === undefined ? "lost" : "loaded");
}
