/**
 * Uses two checkpointers over one connection and closes neither: the program has
 * to end all the same. `node ending-program.ts <backend> <URL or path> [<schema or library>]`
 */
import { optionsOfUrl } from "../src/backends/opensearch/checkpointer.ts";
import { opensearchCheckpointer, opensearchConnection } from "../src/backends/opensearch/index.ts";
import { postgresqlCheckpointer, postgresqlConnection } from "../src/backends/postgres/index.ts";
import { type RedisLibrary, redisCheckpointer, redisConnection } from "../src/backends/redis/index.ts";
import { sqliteCheckpointer, sqliteConnection } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { tellLinger } from "./ending.ts";

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
    case "redis": {
      const connection = redisConnection({ url: place, library: name as RedisLibrary });
      return ["a:", "b:"].map((prefix) => redisCheckpointer({ connection, prefix: `${name}:${prefix}` }));
    }
    case "opensearch": {
      const { hosts, ...rest } = optionsOfUrl(place);
      const connection = opensearchConnection({ ...(hosts !== undefined && { hosts }) });
      return ["a", "b"].map((namespace) => opensearchCheckpointer({ ...rest, connection, namespace }));
    }
    default:
      throw new Error(`no backend ${backend}`);
  }
}

for (const checkpointer of two()) {
  await checkpointer.save(AgentState.create(), "t1");
  console.log((await checkpointer.load("t1")) === undefined ? "lost" : "loaded");
}
tellLinger();
