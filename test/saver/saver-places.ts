import type { Redis } from "ioredis";
import { mysqlCheckpointer } from "../../src/backends/mysql/index.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import { LOCAL_BACKENDS } from "../local-backends.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import type { MysqlPlace } from "../services/mysql-place.ts";
import type { PostgresPlace } from "../services/postgres-place.ts";

/** An empty storage of its own for one test. */
export interface SaverPlace {
  /** Each call is what another process would open. */
  readonly open: (options?: CheckpointerOptions) => Checkpointer;
  readonly cleanup: () => Promise<void>;
}

export async function localPlace(name: string): Promise<SaverPlace> {
  const backend = LOCAL_BACKENDS.find((each) => each.name === name);
  if (backend === undefined) throw new Error(`there is no local backend ${name}`);
  const storage = await backend.create();
  return { open: (options) => storage.open(options), cleanup: () => storage.dispose() };
}

export function postgresSaverPlace({ url, schema, prefix }: PostgresPlace): SaverPlace {
  const tablePrefix = prefix();
  return placeOf((options) => postgresqlCheckpointer({ ...options, dsn: url, schema, tablePrefix }));
}

export function mysqlSaverPlace({ url, prefix }: MysqlPlace): SaverPlace {
  const tablePrefix = prefix();
  return placeOf((options) => mysqlCheckpointer({ ...options, dsn: url, tablePrefix }));
}

function placeOf(open: (options: CheckpointerOptions) => Checkpointer): SaverPlace {
  const opened: Checkpointer[] = [];
  return {
    open: (options = {}) => {
      const checkpointer = open(options);
      opened.push(checkpointer);
      return checkpointer;
    },
    cleanup: async () => {
      for (const checkpointer of opened) await checkpointer.close();
    },
  };
}

export function redisSaverPlace(admin: Redis, url: string): SaverPlace {
  const prefix = freshPrefix();
  const opened: Checkpointer[] = [];
  return {
    open: (options = {}) => {
      const checkpointer = redisCheckpointer({ ...options, url, prefix });
      opened.push(checkpointer);
      return checkpointer;
    },
    cleanup: async () => {
      for (const checkpointer of opened) await checkpointer.close();
      await clearPrefix(admin, prefix);
    },
  };
}
