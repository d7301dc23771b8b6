import { postgresqlCheckpointer, postgresqlStore } from "../../src/backends/postgres/index.ts";
import { type RedisLibrary, redisCheckpointer, redisStore } from "../../src/backends/redis/index.ts";
import { describeWithOwnRedis } from "../redis/fixtures.ts";
import { describeWithService } from "../services/with-service.ts";
import { postgresPair, promoted, redisPair } from "./replicas.ts";
import { SCENARIOS } from "./scenarios.ts";
import { playAll } from "./world.ts";

await describeWithOwnRedis("redis", () => {
  for (const library of ["ioredis", "redis"] satisfies RedisLibrary[]) {
    playAll(`an asynchronous replica is promoted, with ${library}`, SCENARIOS, async () =>
      promoted(await redisPair(), async (url) => ({
        checkpointer: redisCheckpointer({ url, library }),
        store: redisStore({ url, library }),
      })),
    );
  }
});

await describeWithService("postgres", () => {
  playAll("an asynchronous standby is promoted", SCENARIOS, async () =>
    promoted(await postgresPair(), async (dsn) => ({
      checkpointer: postgresqlCheckpointer({ dsn }),
      store: postgresqlStore({ dsn }),
    })),
  );
});
