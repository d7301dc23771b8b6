import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis, said } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { userMessage } from "../../state/message.ts";
import { redisCheckpointer } from "./index.ts";

await describeWithOwnRedis("times to live", () => {
  let server: TestServer;
  let admin: Redis;
  let cluster: TestCluster;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await Promise.all([server.stop(), cluster.stop()]);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  describe.for([
    ["behind", -120_000],
    ["ahead", 120_000],
  ] as const)("with a client whose clock is two minutes %s", ([word, skewMs]) => {
    const now = (): number => Date.now();
    const skewed = (): void => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skewMs });
    };

    test("a thread lives as long as was asked for, by the server's clock", async () => {
      skewed();
      await using checkpointer = redisCheckpointer({ url: server.url, ttlSeconds: 60, now });
      for (const [id, options, left] of [
        [`default ${word}`, {}, 60_000],
        [`of its own ${word}`, { ttlSeconds: 30 }, 30_000],
      ] as const) {
        const state = said("one");
        await checkpointer.save(state, id, options);
        await checkpointer.save(state.withMessage(userMessage("two")), id, options);
        const key = `holdfast:t:{${encodeURIComponent(id)}}`;
        expect(await admin.pttl(key)).toBeGreaterThan(left - 10_000);
        expect(await admin.pttl(key)).toBeLessThanOrEqual(left);
        expect((await checkpointer.load(id))?.messages).toHaveLength(2);
        await checkpointer.copyThread(id, `copy of ${id}`);
        const copied = await admin.pttl(`holdfast:t:{${encodeURIComponent(`copy of ${id}`)}}`);
        expect(copied).toBeGreaterThan(left - 10_000);
        expect(copied).toBeLessThanOrEqual(left);
      }
    });

    test("a copy to another node of a cluster keeps the time that is left", async () => {
      skewed();
      await using checkpointer = redisCheckpointer({ url: cluster.url, now });
      await checkpointer.save(said("hello"), `source ${word}`, { ttlSeconds: 60 });
      await checkpointer.save(said("hello"), `endless ${word}`);
      const leftOf = async (id: string): Promise<number> => {
        const key = `holdfast:t:{${encodeURIComponent(id)}}`;
        const answers = await Promise.all(cluster.admins.map((node) => node.pttl(key).catch(() => undefined)));
        return answers.find((answer) => answer !== undefined) ?? -2;
      };
      for (let index = 0; index < 6; index++) {
        await checkpointer.copyThread(`source ${word}`, `copy ${index} ${word}`);
        expect(await leftOf(`copy ${index} ${word}`)).toBeGreaterThan(50_000);
        expect(await leftOf(`copy ${index} ${word}`)).toBeLessThanOrEqual(60_000);
        await checkpointer.copyThread(`endless ${word}`, `endless copy ${index} ${word}`);
        expect(await leftOf(`endless copy ${index} ${word}`)).toBe(-1);
      }
    });
  });

  test("an excessive time to live is cut to a hundred years, and the save succeeds", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url, ttlSeconds: 1e300 });
    await checkpointer.save(said("one"), "for ever");
    expect(await admin.pttl("holdfast:t:{for%20ever}")).toBeGreaterThan(3e12);
  });
});
