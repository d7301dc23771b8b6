import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { userMessage } from "../../src/state/message.ts";
import { HELD_MS, HeldTimers } from "../held-timers.ts";
import { DIRECTIONS, startCuttingProxy } from "../network/cutting-proxy.ts";
import { startCluster, type TestCluster } from "../redis/cluster.ts";
import { describeWithOwnRedis, PATIENT, said } from "../redis/fixtures.ts";
import { startRedis } from "../services/redis.ts";
import type { TestServer } from "../services/server-process.ts";

// The packages are loaded by name. Here the names stand for the lowest versions of the ranges in the registry.
vi.mock("ioredis", () => import("ioredis-v5"));
vi.mock("redis", () => import("redis-v5"));

await describeWithOwnRedis("the oldest clients that are supported", () => {
  let server: TestServer;
  let cluster: TestCluster;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  });
  afterAll(() => Promise.all([server.stop(), cluster.stop()]));

  test("these are the versions that this file runs", async () => {
    const [ioredis, nodeRedis] = await Promise.all([import("ioredis"), import("redis")]);
    const [oldIoredis, oldNodeRedis] = await Promise.all([import("ioredis-v5"), import("redis-v5")]);
    expect(ioredis.Redis).toBe(oldIoredis.Redis);
    expect(nodeRedis.createClient).toBe(oldNodeRedis.createClient);
  });

  describe.for(["ioredis", "redis"] as const)("%s", (library) => {
    test("opens a URL, saves, loads, lists and deletes, on one server and in a cluster", async () => {
      for (const url of [server.url, cluster.url]) {
        await using checkpointer = redisCheckpointer({ url, library });
        const ids = Array.from({ length: 12 }, (_, index) => `${library} ${index}`);
        for (const id of ids) await checkpointer.save(said(id), id);
        for (const id of ids) {
          const state = await checkpointer.load(id);
          await checkpointer.save(state!.withMessage(userMessage("more")), id);
        }
        const listed = await checkpointer.listThreads({ pattern: `${library} *` });
        expect(listed.filter((id) => !id.endsWith("silent")).sort()).toEqual([...ids].sort());
        await checkpointer.copyThread(ids[0]!, "copy");
        expect((await checkpointer.load("copy"))?.messages).toHaveLength(2);
        for (const id of [...ids, "copy"]) expect(await checkpointer.delete(id)).toBe(true);
      }
    });

    test("abandons a connection that fell silent, or broke", async () => {
      const proxy = await startCuttingProxy({ targetPort: server.port });
      const place = new URL(server.url);
      place.port = String(proxy.port);
      const limits = HeldTimers.forThisTest();
      const checkpointer = redisCheckpointer({ url: place.href, library, ...PATIENT, commandTimeoutMs: HELD_MS });
      let state = said("one");
      await checkpointer.save(state, `${library} silent`);
      proxy.silence(...DIRECTIONS);
      state = state.withMessage(userMessage("more"));
      const saving = checkpointer.save(state, `${library} silent`);
      await limits.untilOneWaits();
      limits.expire();
      await saving;
      proxy.cutAll();
      await checkpointer.save(state.withMessage(userMessage("more")), `${library} silent`);
      expect(await checkpointer.listCheckpoints(`${library} silent`)).toHaveLength(3);
      await checkpointer.close();
      await proxy.close();
    });
  });
});
