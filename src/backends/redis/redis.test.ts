import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithOwnRedis, endClient, IOREDIS, NODE_REDIS, PATIENT, said } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { userMessage } from "../../state/message.ts";
import { HOSTILE_IDS } from "../../testing/hostile-ids.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";
import { redisLogOptions } from "./checkpointer.ts";
import { redisCheckpointer } from "./index.ts";
import { RedisLog } from "./log.ts";

await describeWithOwnRedis("a Redis server of its own", () => {
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

  /** Empties the server and returns its URL. */
  async function emptied(): Promise<string> {
    await admin.flushall();
    return server.url;
  }

  /** How often each command was run since the statistics were reset. */
  async function commandCounts(): Promise<ReadonlyMap<string, number>> {
    const lines = (await admin.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    return new Map([...lines].map(([, name = "", calls]) => [name, Number(calls)]));
  }

  async function bytesReceived(): Promise<number> {
    return Number(/^total_net_input_bytes:(\d+)/m.exec(await admin.info("stats"))?.[1]);
  }

  describe.for([IOREDIS, NODE_REDIS])("with $name", ({ make, library }) => {
    test("a save and a load are one command each, and nothing walks the keyspace", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied(), library });
      // The server is sent the text of a script that it has not run before: of creating, of appending, of reading.
      let state = said("message 0");
      await checkpointer.save(state, "t");
      state = state.withMessage(userMessage("once more"));
      await checkpointer.save(state, "t");
      await checkpointer.load("t");
      await admin.config("RESETSTAT");
      for (let step = 1; step <= 20; step++) {
        state = state.withMessage(userMessage(`message ${step}`));
        await checkpointer.save(state, "t");
      }
      for (let step = 0; step < 5; step++) await checkpointer.load("t");
      await checkpointer.save(said("another"), "u");
      const counts = await commandCounts();
      expect(counts.get("evalsha")).toBe(26);
      for (const name of ["eval", "keys", "scan", "hgetall", "hscan", "zscan"]) expect(counts.has(name)).toBe(false);
    });

    test("scripts that the server forgot are sent again", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied(), library });
      const state = said("one");
      await checkpointer.save(state, "t");
      await admin.script("FLUSH");
      await checkpointer.save(state.withMessage(userMessage("two")), "t");
      await admin.script("FLUSH");
      expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
    });

    test("close ends a connection that was made here, and leaves one that was handed in", async () => {
      const named = async (name: string) => String(await admin.client("LIST")).includes(`name=${name}`);
      const own = redisCheckpointer({ url: await emptied(), library });
      await own.save(said("hello"), "t");
      const connected = Number(/connected_clients:(\d+)/.exec(await admin.info("clients"))?.[1]);
      await own.close();
      await expect
        .poll(async () => Number(/connected_clients:(\d+)/.exec(await admin.info("clients"))?.[1]))
        .toBe(connected - 1);

      const client = make(server.url);
      const borrowed = redisCheckpointer({ client });
      expect((await borrowed.load("t"))?.messages).toHaveLength(1);
      if ("callBuffer" in client) await client.callBuffer("CLIENT", ["SETNAME", "kept"]);
      else if (!("masters" in client)) await client.sendCommand(["CLIENT", "SETNAME", "kept"]);
      await borrowed.close();
      expect(await named("kept")).toBe(true);
      await endClient(client);
    });

    test("a client that its owner ended is not reconnected", async () => {
      const client = make(await emptied());
      const checkpointer = redisCheckpointer({ client, retry: { attempts: 1 }, connectTimeoutMs: 6_000 });
      await checkpointer.save(said("hello"), "t");
      await endClient(client);
      await expect.poll(() => checkpointer.load("t").catch(({ code }) => code)).toBe("UNAVAILABLE");
      expect(await checkpointer.exists("t").catch(({ code }) => code)).toBe("UNAVAILABLE");
      await checkpointer.close();
    });

    test("a connection that is cut during a save neither loses nor repeats a save", async () => {
      const client = make(await emptied());
      const checkpointer = redisCheckpointer({ client });
      let state = said("message 0");
      await checkpointer.save(state, "t");
      for (let step = 1; step <= 60; step++) {
        state = state.withMessage(userMessage(`message ${step}`));
        const cut = step % 5 === 0 ? admin.call("CLIENT", ["KILL", "TYPE", "normal", "SKIPME", "yes"]) : undefined;
        await Promise.all([checkpointer.save(state, "t"), cut]);
      }
      expect((await checkpointer.load("t"))?.messages).toHaveLength(61);
      expect((await checkpointer.listCheckpoints("t", { limit: 100 })).length).toBe(61);
      await checkpointer.close();
      await endClient(client);
    });
  });

  test("what a save sends does not grow with the thread", async () => {
    await using checkpointer = redisCheckpointer({ url: await emptied() });
    let state = said("message");
    const sent: number[] = [];
    for (let step = 1; step <= 300; step++) {
      const before = step === 10 || step === 300 ? await bytesReceived() : 0;
      state = state.withMessage(userMessage("message"));
      await checkpointer.save(state, "t");
      if (before > 0) sent.push((await bytesReceived()) - before);
    }
    const [early = 0, late = 0] = sent;
    expect(late).toBeLessThan(early * 1.2);
  });

  test("a thread is one key, whatever its id, and a deleted one leaves nothing", async () => {
    await using checkpointer = redisCheckpointer({ url: await emptied() });
    for (const id of HOSTILE_IDS) await checkpointer.save(said(id), id);
    expect(await admin.dbsize()).toBe(HOSTILE_IDS.length + 1);
    const keys = await admin.keys("*");
    for (const key of keys) expect(key).toMatch(/^holdfast:(?:t:\{[^{}:]+\}|\{index\}:ids)$/);
    for (const id of HOSTILE_IDS) await checkpointer.delete(id);
    expect(await admin.dbsize()).toBe(0);
  });

  test("two prefixes are two stores, though one begins with the other", async () => {
    const url = await emptied();
    const stores = ["a:", "a:t:", "a", ""].map((prefix) => redisCheckpointer({ url, prefix }));
    for (const [index, store] of stores.entries()) await store.save(said(`of store ${index}`), "index");
    for (const [index, store] of stores.entries()) {
      expect(JSON.stringify((await store.load("index"))?.messages)).toContain(`of store ${index}`);
      expect(await store.listThreads()).toEqual(["index"]);
      await store.close();
    }
  });

  describe("expiry", () => {
    const key = "holdfast:t:{t}";

    test("with ttlSeconds every save renews the expiry of its thread", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied(), ttlSeconds: 100 });
      const state = said("one");
      await checkpointer.save(state, "t");
      expect(await admin.pttl(key)).toBeGreaterThan(90_000);
      await admin.pexpire(key, 5000);
      await checkpointer.save(state.withMessage(userMessage("two")), "t");
      expect(await admin.pttl(key)).toBeGreaterThan(90_000);
    });

    test("a save with its own ttl uses that", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied(), ttlSeconds: 100 });
      await checkpointer.save(said("one"), "t", { ttlSeconds: 1000 });
      expect(await admin.pttl(key)).toBeGreaterThan(900_000);
      await checkpointer.save(said("one"), "u", { ttlSeconds: 1e300 });
      expect(await admin.pttl("holdfast:t:{u}")).toBeGreaterThan(1e12);
    });

    test("without one, a save does not change the expiry", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied() });
      const state = said("one");
      await checkpointer.save(state, "t", { ttlSeconds: 1000 });
      await checkpointer.save(state.withMessage(userMessage("two")), "t");
      expect(await admin.pttl(key)).toBeGreaterThan(900_000);
      await checkpointer.copyThread("t", "u");
      expect(await admin.pttl("holdfast:t:{u}")).toBeGreaterThan(900_000);
    });

    test("an expired thread is gone whole, is listed no more, and leaves the index", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied() });
      for (let index = 0; index < 50; index++) await checkpointer.save(said("hello"), `t${index}`);
      const state = await checkpointer.load("t7");
      for (let index = 0; index < 49; index++) await admin.pexpire(`holdfast:t:{t${index}}`, 1);
      await expect.poll(() => checkpointer.load("t7")).toBeUndefined();
      await expect(checkpointer.save(state!.withMessage(userMessage("late")), "t7")).rejects.toMatchObject({
        code: "CONFLICT",
      });
      expect(await checkpointer.listThreads({ limit: 1 })).toEqual(["t49"]);
      expect(await checkpointer.listThreads()).toEqual(["t49"]);
      expect(await admin.zrange("holdfast:{index}:ids", "0", "-1")).toEqual(["t49"]);
    });
  });

  describe("what is stored under a thread's key and is not a thread", () => {
    test.for([
      ["of another type", () => admin.set("holdfast:t:{t}", "mine")],
      ["that is another program's hash", () => admin.hset("holdfast:t:{t}", "mine", "1")],
    ] as const)("a key %s is CORRUPT and named, never read as no thread and never written over", async ([, put]) => {
      await using checkpointer = redisCheckpointer({ url: await emptied() });
      await put();
      const failures = [
        () => checkpointer.load("t"),
        () => checkpointer.save(said("hello"), "t"),
        () => checkpointer.exists("t"),
        () => checkpointer.delete("t"),
      ];
      for (const call of failures) {
        const failure = expect(call()).rejects;
        await failure.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("the key holdfast:t:{t} ") });
      }
      expect(await admin.exists("holdfast:t:{t}")).toBe(1);
      await checkpointer.save(said("hello"), "u");
      await admin.zadd("holdfast:{index}:ids", 0, "t");
      const listed = await checkpointer.listThreads();
      expect([...listed]).toEqual(["u", "t"]);
      const message = expect.stringContaining("the key holdfast:t:{t} ");
      expect(listed.warnings).toEqual([{ threadId: "t", code: "CORRUPT", message }]);
    });

    test("an index of another type is CORRUPT, and no part of a thread is written", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied() });
      await admin.set("holdfast:{index}:ids", "mine");
      await expect(checkpointer.save(said("hello"), "t")).rejects.toMatchObject({ code: "CORRUPT" });
      await expect(checkpointer.listThreads()).rejects.toMatchObject({ code: "CORRUPT" });
      expect(await admin.dbsize()).toBe(1);
    });

    test("a thread of a newer format is INCOMPATIBLE, and left alone", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied() });
      await admin.hset("holdfast:t:{t}", "thread", "2 whatever comes then");
      for (const call of [() => checkpointer.load("t"), () => checkpointer.delete("t")]) {
        const failure = expect(call()).rejects;
        await failure.toMatchObject({ code: "INCOMPATIBLE", message: expect.stringContaining("has format 2;") });
      }
      expect(await admin.hlen("holdfast:t:{t}")).toBe(1);
    });

    test("a record that is changed or missing is CORRUPT; other threads still load", async () => {
      await using checkpointer = redisCheckpointer({ url: await emptied(), cacheBytes: 0 });
      for (const id of ["changed", "no body", "no entry", "whole"]) await checkpointer.save(said("the first"), id);
      await admin.hset("holdfast:t:{changed}", "b:1", "the worst");
      await admin.hdel("holdfast:t:{no%20body}", "b:1");
      await admin.hdel("holdfast:t:{no%20entry}", "e:1");
      for (const id of ["changed", "no body", "no entry"]) {
        await expect(checkpointer.load(id)).rejects.toMatchObject({ code: "CORRUPT", context: { threadId: id } });
      }
      expect((await checkpointer.load("whole"))?.messages).toHaveLength(1);
    });
  });

  test("the clock is the server's", async () => {
    const log = new RedisLog(redisLogOptions({ url: await emptied(), ...PATIENT }));
    const [seconds] = await admin.time();
    const now = await log.now();
    expect(now).toBeGreaterThanOrEqual(Number(seconds) * 1000);
    expect(now).toBeLessThan(Number(seconds) * 1000 + 60_000);
    await log.close();
  });

  test("bodies of every byte come back as they were, with either library", async () => {
    const body = Uint8Array.from({ length: 3 * 256 }, (_, index) => index % 256);
    for (const library of ["ioredis", "redis"] as const) {
      const log = new RedisLog(redisLogOptions({ url: await emptied(), library, ...PATIENT }));
      const entry = { seq: 1, writeId: "w", base: 1, head: 1, checkpointId: "c\u00e9", header: "h\n\u{1f600}" };
      const record = { ...entry, metadata: '{"a":"\u00e9"}', body: body.subarray(256), words: undefined };
      await log.append("t", { expected: placeAt(0, "g h\n"), record });
      const chain = await log.readTail("t");
      expect(chain?.generation).toBe("g h\n");
      expect(chain?.records[0]).toMatchObject({ ...entry, metadata: '{"a":"\u00e9"}' });
      expect(Buffer.compare(chain?.records[0]?.body ?? body, body.subarray(256))).toBe(0);
      await log.close();
    }
  });
});

test("a misspelt, mistyped or senseless option is refused", () => {
  expect(() => redisCheckpointer({ uri: "redis://a" } as never)).toThrow(/no option "uri"; did you mean "url"\?/);
  expect(() => redisCheckpointer({ url: 7 } as never)).toThrow(/url must be a string/);
  expect(() => redisCheckpointer({ prefix: "a{b}:" })).toThrow(/prefix must be/);
  expect(() => redisCheckpointer({ ttlSeconds: 0 })).toThrow(/ttlSeconds must be a number greater than 0/);
  expect(() => redisCheckpointer({ library: "jedis" as never })).toThrow(/library must be/);
  expect(() => redisCheckpointer({ url: "redis://a", client: {} as never })).toThrow(/url or a client, not both/);
});

test("a client of an unknown kind is refused by name", () => {
  const versionFour = { isOpen: false, sendCommand: () => undefined, disconnect: () => undefined };
  for (const client of [{ send: () => undefined }, versionFour]) {
    expect(() => redisCheckpointer({ client: client as never })).toThrow(/createCluster\(\) of redis 5 or later/);
  }
});
