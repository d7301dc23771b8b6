import { expect, test } from "vitest";
import { postgresqlCheckpointer, postgresqlStore } from "../../src/backends/postgres/index.ts";
import { type RedisLibrary, redisCheckpointer, redisStore } from "../../src/backends/redis/index.ts";
import { and, loaded } from "../../src/testing/checkpointer-cases/conversations.ts";
import { describeWithOwnRedis } from "../redis/fixtures.ts";
import { describeWithService } from "../services/with-service.ts";
import { type Pair, postgresPair, promoted, redisPair, unanswered } from "./replicas.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type Process, playAll } from "./world.ts";

function survivesPromotion(name: string, pair: () => Promise<Pair>, open: (url: string) => Promise<Process>): void {
  playAll(name, SCENARIOS, async () => promoted(await pair(), open));

  test(`${name}: a save that only the lost primary made is made once on the promoted one, or is CONFLICT behind what others wrote there`, async () => {
    const { outcomes, lines } = await unanswered(await pair(), open, ["alone", "taken"], async (other) => {
      await other.save(and(await loaded(other, "taken"), "theirs"), "taken");
    });
    expect(lines).toEqual([
      ["message 1", "message 2", "mine"],
      ["message 1", "message 2", "theirs"],
    ]);
    expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "CONFLICT" } }]);
  });
}

await describeWithOwnRedis("redis", () => {
  for (const library of ["ioredis", "redis"] satisfies RedisLibrary[]) {
    survivesPromotion(`an asynchronous replica is promoted, with ${library}`, redisPair, async (url) => ({
      checkpointer: redisCheckpointer({ url, library }),
      store: redisStore({ url, library }),
    }));
  }
});

await describeWithService("postgres", () => {
  survivesPromotion("an asynchronous standby is promoted", postgresPair, async (dsn) => ({
    checkpointer: postgresqlCheckpointer({ dsn }),
    store: postgresqlStore({ dsn }),
  }));
});
