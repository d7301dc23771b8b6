import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis, endClient, IOREDIS, NODE_REDIS, PATIENT, said } from "../../../test/redis/fixtures.ts";
import { type RedisOptions, startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type RedisCheckpointerOptions, redisCheckpointer } from "./index.ts";

const INDEX = "holdfast:{index}:ids";

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

async function server(settings: RedisOptions["settings"] = {}): Promise<{ server: TestServer; admin: Redis }> {
  const started = await startRedis({ settings });
  const admin = new Redis(started.url);
  admin.on("error", () => undefined);
  opened.push({ close: () => started.stop() }, { close: async () => admin.disconnect() });
  return { server: started, admin };
}

function opening(options: RedisCheckpointerOptions): Checkpointer {
  const checkpointer = redisCheckpointer({ retry: { attempts: 1 }, ...PATIENT, ...options });
  opened.push(checkpointer);
  return checkpointer;
}

const READS: Readonly<Record<string, (checkpointer: Checkpointer) => Promise<unknown>>> = {
  load: (checkpointer) => checkpointer.load("t"),
  exists: (checkpointer) => checkpointer.exists("t"),
  listCheckpoints: (checkpointer) => checkpointer.listCheckpoints("t"),
  listThreads: (checkpointer) => checkpointer.listThreads(),
  delete: (checkpointer) => checkpointer.delete("t"),
  copyThread: (checkpointer) => checkpointer.copyThread("t", "u"),
};

await describeWithOwnRedis("what is absent, and what only seems so", () => {
  describe("a replica", () => {
    test("that has not received anything yet is UNAVAILABLE, never 'no thread'", async () => {
      const { server: primary } = await server();
      await opening({ url: primary.url }).save(said("hello"), "t");
      const { server: replica, admin } = await server({ appendonly: "no" });
      // Its primary refuses it, so it stays empty and keeps waiting.
      await admin.call("REPLICAOF", ["127.0.0.1", String(primary.port)]);
      const reader = opening({ url: replica.url });
      for (const [name, read] of Object.entries(READS)) {
        await expect(read(reader), name).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
      }
      await admin.config("SET", "masterauth", new URL(primary.url).password);
      await expect.poll(() => reader.load("t").catch(String)).toMatchObject({ messages: [{}] });
      expect(await reader.load("absent")).toBeUndefined();
      expect(await reader.listThreads()).toEqual(["t"]);
    });

    test("that lost its primary answers for threads that it has, and does not report others as absent", async () => {
      const { server: primary } = await server({ "repl-diskless-sync-delay": "0" });
      await opening({ url: primary.url }).save(said("hello"), "t");
      const password = new URL(primary.url).password;
      const { server: replica } = await server({
        appendonly: "no",
        masterauth: password,
        replicaof: `127.0.0.1 ${primary.port}`,
      });
      const reader = opening({ url: replica.url });
      await expect.poll(() => reader.load("t").catch(String)).toMatchObject({ messages: [{}] });
      await primary.kill();
      await expect.poll(() => reader.load("made meanwhile").catch(({ code }) => code)).toBe("UNAVAILABLE");
      expect((await reader.load("t"))?.messages).toHaveLength(1);
      await expect(reader.listThreads()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
  });

  describe("the index of ids", () => {
    const ids = Array.from({ length: 40 }, (_, index) => `thread ${index} \u{1f600}/{*}`);

    test("that was evicted is repaired by the next listing, and every thread is listed", async () => {
      const { server: evicting, admin } = await server();
      const checkpointer = opening({ url: evicting.url });
      await admin.set("another program's", "key");
      await admin.hset("holdfast:t:not one of ours", "a", "b");
      for (const id of ids) await checkpointer.save(said(id), id);
      await admin.unlink(INDEX);
      expect([...(await checkpointer.listThreads({ limit: 100 }))].sort()).toEqual([...ids].sort());
      await admin.unlink(INDEX);
      // The next thread begins a new index, which must not pass for a complete one.
      await checkpointer.save(said("new"), "new");
      expect(await admin.zcard(INDEX)).toBe(1);
      expect([...(await checkpointer.listThreads({ limit: 100 }))].sort()).toEqual([...ids, "new"].sort());
      await admin.config("RESETSTAT");
      expect(await checkpointer.listThreads({ limit: 100 })).toHaveLength(41);
      expect(await admin.info("commandstats")).not.toContain("cmdstat_scan:");
    });

    test("that is evicted by a full server is rebuilt, and the durability says that threads may be evicted too", async () => {
      const { server: evicting, admin } = await server({ maxmemory: "32mb", "maxmemory-policy": "allkeys-lru" });
      const checkpointer = opening({ url: evicting.url });
      for (const id of ids) await checkpointer.save(said(id), id);
      expect(checkpointer.capabilities.durability).toBe("memory");
      // Threads are used and the index is not, until the index is what a full server evicts first.
      const filler = "x".repeat(100_000);
      for (let index = 0; index < 3000 && (await admin.exists(INDEX)) === 1; index++) {
        await admin.set(`filler ${index % 400}`, filler + index);
        if (index % 20 === 0) for (const id of ids) await checkpointer.exists(id);
      }
      expect(await admin.exists(INDEX)).toBe(0);
      await admin.config("SET", "maxmemory", "0");
      const alive: string[] = [];
      for (const id of ids) if (await checkpointer.exists(id)) alive.push(id);
      expect([...(await checkpointer.listThreads({ limit: 100 }))].sort()).toEqual(alive.sort());
    });

    test("that a replica cannot repair makes listing UNAVAILABLE, never incomplete", async () => {
      const { server: primary, admin: boss } = await server({ "repl-diskless-sync-delay": "0" });
      await opening({ url: primary.url }).save(said("hello"), "t");
      await boss.unlink(INDEX);
      const masterauth = new URL(primary.url).password;
      const settings = { appendonly: "no", masterauth, replicaof: `127.0.0.1 ${primary.port}` };
      const reader = opening({ url: (await server(settings)).server.url });
      await expect.poll(() => reader.exists("t").catch(() => false)).toBe(true);
      const failure = expect(reader.listThreads()).rejects;
      await failure.toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("through the primary") });
    });
  });

  describe("a cluster", () => {
    let cluster: TestCluster;
    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster.stop());

    test("an index that was evicted is repaired from all of its nodes", async () => {
      const checkpointer = opening({ url: cluster.url });
      const ids = Array.from({ length: 30 }, (_, index) => `thread ${index}`);
      for (const id of ids) await checkpointer.save(said(id), id);
      for (const admin of cluster.admins) await admin.unlink(INDEX).catch(() => undefined);
      await checkpointer.save(said("new"), "new");
      expect([...(await checkpointer.listThreads({ limit: 100 }))].sort()).toEqual([...ids, "new"].sort());
      for (const id of ids) await checkpointer.delete(id);
    });

    test("its durability is that of its weakest node", async () => {
      const learnt = async (library: "ioredis" | "redis"): Promise<string> => {
        const checkpointer = opening({ url: cluster.url, library });
        await checkpointer.load("t");
        return checkpointer.capabilities.durability;
      };
      for (const library of ["ioredis", "redis"] as const) {
        expect(await learnt(library)).toBe("fsync");
        for (const [index, [name, weak, strong, class_]] of [
          ["appendfsync", "everysec", "always", "os"],
          ["no-appendfsync-on-rewrite", "yes", "no", "os"],
          ["appendonly", "no", "yes", "memory"],
        ].entries() as IterableIterator<[number, [string, string, string, string]]>) {
          await cluster.admins[index]!.config("SET", name, weak);
          expect(await learnt(library), name).toBe(class_);
          await cluster.admins[index]!.config("SET", name, strong);
        }
      }
    });

    test.for([IOREDIS, NODE_REDIS])(
      "a slot that no node serves is an error that may pass, never no thread, with $name",
      async ({ library, makeCluster }) => {
        const patient = opening({ url: cluster.url, library });
        if (!(await patient.exists("t"))) await patient.save(said("hello"), "t");
        const hasty = { connectTimeoutMs: 500, commandTimeoutMs: 5_000 };
        const own = opening({ url: cluster.url, library, ...hasty });
        await expect.poll(() => own.exists("t").catch(String)).toBe(true);
        const slot = String(await cluster.admins[0]!.cluster("KEYSLOT", "holdfast:t:{t}"));
        const client = makeCluster(cluster.url);
        opened.push({ close: () => endClient(client) });
        for (const admin of cluster.admins) await admin.call("CLUSTER", ["DELSLOTS", slot]).catch(() => undefined);
        try {
          for (const checkpointer of [
            own,
            opening({ url: cluster.url, library, ...hasty }),
            opening({ client, ...hasty }),
          ]) {
            for (const [name, read] of Object.entries(READS)) {
              const code = expect.stringMatching(/^(?:UNAVAILABLE|TIMEOUT)$/);
              await expect(read(checkpointer), name).rejects.toMatchObject({ code, retryable: true });
            }
          }
        } finally {
          const owner = Number(slot) < 5461 ? 0 : Number(slot) < 10_922 ? 1 : 2;
          await cluster.admins[owner]!.call("CLUSTER", ["ADDSLOTS", slot]);
          await cluster.untilWhole();
        }
      },
    );
  });

  test("a node of a cluster that has no slots at all is UNAVAILABLE, never 'no thread'", async () => {
    const { server: lonely } = await server({ "cluster-enabled": "yes", "cluster-config-file": "nodes.conf" });
    for (const library of ["ioredis", "redis"] as const) {
      const checkpointer = opening({ url: lonely.url, library, connectTimeoutMs: 500 });
      for (const [name, read] of Object.entries(READS)) {
        await expect(read(checkpointer), `${library} ${name}`).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }
    }
  });

  test("no sync while the log is rewritten is less than fsync", async () => {
    const { server: sparing } = await server({ "no-appendfsync-on-rewrite": "yes" });
    const checkpointer = opening({ url: sparing.url });
    await checkpointer.load("t");
    expect(checkpointer.capabilities.durability).toBe("os");
  });
});
