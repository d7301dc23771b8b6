import { readFile } from "node:fs/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis, freshPrefix, IOREDIS, NODE_REDIS, said } from "../../../test/redis/fixtures.ts";
import { findOldestRedis } from "../../../test/services/oldest-redis.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { redisCheckpointer } from "./index.ts";

await describeWithOwnRedis("Redis with read access", () => {
  let server: TestServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  /** Every key with its serialized value and its expiry. */
  async function contents(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const key of (await admin.keys("*")).sort()) {
      const [dump, end] = [await admin.dumpBuffer(key), await admin.call("PEXPIRETIME", [key])];
      found[key] = `${dump?.toString("hex")} ${String(end)}`;
    }
    return found;
  }

  for (const { name, library } of [IOREDIS, NODE_REDIS]) {
    testReadAccess({
      name: `Redis through ${name}`,
      create: async (): Promise<ObservedStore> => {
        await admin.flushall();
        const prefix = freshPrefix();
        return { open: (options) => redisCheckpointer({ ...options, url: server.url, library, prefix }), contents };
      },
    });
  }

  async function callsByCommand(): Promise<ReadonlyMap<string, number>> {
    const lines = (await admin.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    return new Map([...lines].map(([, name = "", calls]) => [name.replace("|", " "), Number(calls)]));
  }

  test("with read access the server runs no command that writes", async () => {
    await admin.flushall();
    const writer = redisCheckpointer({ url: server.url });
    const filled = await fillStore(writer);
    await writer.save(said("expiring"), "ends", { ttlSeconds: 3600 });
    await writer.close();
    const before = await callsByCommand();
    const reader = redisCheckpointer({ url: server.url, access: "read" });
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    await reader.close();
    const after = await callsByCommand();
    const ran = [...after].filter(([name, calls]) => calls > (before.get(name) ?? 0)).map(([name]) => name);
    expect(ran).toContain("evalsha_ro");
    for (const name of ran) {
      const [about] = (await admin.call("COMMAND", ["INFO", name.split(" ")[0] ?? ""])) as [[string, number, string[]]];
      expect([name, about[2].includes("write")]).toEqual([name, false]);
    }
  });

  test("an evicted index is not rebuilt by a reader, and every thread is still listed", async () => {
    await admin.flushall();
    const writer = redisCheckpointer({ url: server.url });
    for (let thread = 1; thread <= 30; thread++) await writer.save(said("x"), `t${String(thread).padStart(2, "0")}`);
    const ids = [...(await writer.listThreads({ limit: 100 }))];
    await admin.del("holdfast:{index}:ids");
    const before = await contents();
    const reader = redisCheckpointer({ url: server.url, access: "read" });
    const walked: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await reader.listThreads({ limit: 7, ...(cursor !== undefined && { cursor }) });
      walked.push(...page);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(walked).toEqual(ids);
    expect(await reader.listThreads({ pattern: "t1*", limit: 100 })).toHaveLength(10);
    expect(await contents()).toEqual(before);
    // A thread that was added since is in the next listing, as is one that a writer entered into a new index.
    await writer.save(said("x"), "t99");
    expect(await reader.listThreads({ limit: 100 })).toEqual([...ids, "t99"]);
    await writer.listThreads();
    await writer.save(said("x"), "t999");
    expect(await reader.listThreads({ limit: 100 })).toEqual([...ids, "t99", "t999"]);
    await reader.close();
    await writer.close();
  });

  test("an id whose thread is gone stays in the index when it is only read", async () => {
    await admin.flushall();
    const writer = redisCheckpointer({ url: server.url });
    await writer.save(said("x"), "here");
    await writer.save(said("x"), "gone");
    await admin.del("holdfast:t:{gone}");
    const reader = redisCheckpointer({ url: server.url, access: "read" });
    expect(await reader.listThreads()).toEqual(["here"]);
    expect(await admin.zrange("holdfast:{index}:ids", "0", "-1")).toEqual(["gone", "here"]);
    expect(await writer.listThreads()).toEqual(["here"]);
    expect(await admin.zrange("holdfast:{index}:ids", "0", "-1")).toEqual(["here"]);
    await reader.close();
    await writer.close();
  });

  test("a user with the read rights that docs/redis.md lists can read everything, and cannot write", async () => {
    await admin.flushall();
    const writer = redisCheckpointer({ url: server.url });
    const filled = await fillStore(writer);
    const page = await readFile(new URL("../../../docs/redis.md", import.meta.url), "utf8");
    const rules = /^ACL SETUSER viewer on >\S+ (.*)$/m.exec(page)?.[1]?.split(" ") ?? [];
    expect(rules).toContain("+evalsha_ro");
    await admin.call("ACL", ["SETUSER", "viewer", "on", ">secret", ...rules]);
    const place = new URL(server.url);
    [place.username, place.password] = ["viewer", "secret"];
    const reader = redisCheckpointer({ url: place.href, access: "read" });
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    await admin.del("holdfast:{index}:ids");
    expect((await reader.listThreads()).length).toBeGreaterThan(3);
    await reader.close();
    const stranger = redisCheckpointer({ url: place.href });
    expect((await failureOf(() => stranger.save(said("x"), "new"))).code).toBe("PERMISSION_DENIED");
    await stranger.close();
    await writer.close();
  });

  test("a server that is older than the read-only commands can still be read", async (context) => {
    const program = await findOldestRedis();
    if (program === undefined) return context.skip("there is no Redis 6.2 here");
    const oldest = await startRedis({ program });
    const writer = redisCheckpointer({ url: oldest.url });
    const filled = await fillStore(writer);
    const reader = redisCheckpointer({ url: oldest.url, access: "read" });
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    expect((await reader.load("long"))?.messages).toHaveLength(70);
    await reader.close();
    await writer.close();
    await oldest.stop();
  });
});

await describeWithOwnRedis("a Redis cluster with read access", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  describe.for([IOREDIS, NODE_REDIS])("through $name", ({ library }) => {
    test("a cluster is read without a change on any node, with its index and without", async () => {
      for (const admin of cluster.admins) await admin.flushall();
      const writer = redisCheckpointer({ url: cluster.url, library });
      const filled = await fillStore(writer);
      const ids = [...(await writer.listThreads())];
      const reader = redisCheckpointer({ url: cluster.url, library, access: "read" });
      for (const removed of [false, true]) {
        if (removed) for (const admin of cluster.admins) await admin.del("holdfast:{index}:ids").catch(() => 0);
        const before = await keysOf(cluster);
        for (const call of Object.values(readingCalls(reader, filled))) await call();
        expect([...(await reader.listThreads())]).toEqual(ids);
        expect(await keysOf(cluster)).toEqual(before);
      }
      await reader.close();
      await writer.close();
    });
  });
});

async function keysOf({ admins }: TestCluster): Promise<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const admin of admins) {
    for (const key of await admin.keys("*")) found[key] = (await admin.dumpBuffer(key))?.toString("hex");
  }
  return found;
}
