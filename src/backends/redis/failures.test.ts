import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { HELD_MS, HeldTimers } from "../../../test/held-timers.ts";
import { describeWithOwnRedis, endClient, IOREDIS, NODE_REDIS, PATIENT, said } from "../../../test/redis/fixtures.ts";
import { type RedisOptions, startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { userMessage } from "../../state/message.ts";
import { type RedisCheckpointerOptions, redisCheckpointer } from "./index.ts";

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

async function server(settings: RedisOptions["settings"] = {}): Promise<{ server: TestServer; admin: Redis }> {
  const started = await startRedis({ settings });
  const admin = new Redis(started.url);
  // Some tests kill the server: the connection errors are expected.
  admin.on("error", () => undefined);
  opened.push({ close: () => started.stop() }, { close: async () => admin.disconnect() });
  return { server: started, admin };
}

function checkpointerOn(options: RedisCheckpointerOptions): Checkpointer {
  const checkpointer = redisCheckpointer({ retry: { attempts: 1 }, ...PATIENT, ...options });
  opened.push(checkpointer);
  return checkpointer;
}

/** `url` with another user and password. */
function as(url: string, username: string, password: string): string {
  const place = new URL(url);
  [place.username, place.password] = [username, password];
  return place.href;
}

await describeWithOwnRedis("when Redis fails", () => {
  describe.for([IOREDIS, NODE_REDIS])("with $name", ({ library, make }) => {
    test("a wrong password is PERMISSION_DENIED at once, and no error shows it", async () => {
      const url = as((await server()).server.url, "default", "s3cret-canary");
      for (const options of [{ url, library }, { client: make(url) }]) {
        const checkpointer = checkpointerOn({ ...options, connectTimeoutMs: 20_000 });
        for (const call of [() => checkpointer.load("t"), () => checkpointer.save(said("hello"), "t")]) {
          const failure: unknown = await call().catch((error: unknown) => error);
          expect(failure).toMatchObject({ code: "PERMISSION_DENIED", retryable: false });
          expect(inspect(failure, { depth: 9 })).not.toContain("s3cret-canary");
        }
        if (options.client !== undefined) await endClient(options.client);
      }
    });

    test("a server that is not there is UNAVAILABLE, never 'no thread'", async () => {
      const { server: gone } = await server();
      await gone.kill();
      const checkpointer = checkpointerOn({ url: gone.url, library, connectTimeoutMs: 300 });
      await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
      await expect(checkpointer.save(said("hello"), "t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await expect(checkpointer.listThreads()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });

    test("a server that takes connections and says nothing is TIMEOUT", async () => {
      const silent = createServer(() => undefined).listen(0, "127.0.0.1");
      await once(silent, "listening");
      opened.push({ close: async () => silent.close() });
      const url = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const checkpointer = checkpointerOn({ url, library, connectTimeoutMs: 200 });
      await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "TIMEOUT", retryable: true });
    });

    test("an answer that does not come is TIMEOUT; the same save repeated is applied once", async () => {
      const { server: slow, admin } = await server();
      const limits = HeldTimers.forThisTest();
      const checkpointer = checkpointerOn({ url: slow.url, library, commandTimeoutMs: HELD_MS });
      const state = said("one");
      await checkpointer.save(state, "t");
      await admin.call("CLIENT", ["PAUSE", "600000", "WRITE"]);
      const next = state.withMessage(userMessage("two"));
      const unheard = expect(checkpointer.save(next, "t")).rejects.toMatchObject({ code: "TIMEOUT", retryable: true });
      await limits.untilOneWaits();
      await sleep(100);
      limits.expire();
      await unheard;
      await admin.call("CLIENT", ["UNPAUSE"]);
      await checkpointer.save(next, "t");
      expect(await checkpointer.listCheckpoints("t")).toHaveLength(2);
      await checkpointer.save(next.withMessage(userMessage("three")), "t");
    });

    test("a server that was killed and came back has everything, and the same checkpointer works again", async () => {
      const { server: mortal } = await server();
      const checkpointer = checkpointerOn({ url: mortal.url, library, connectTimeoutMs: 300 });
      const client = make(mortal.url);
      const borrowed = checkpointerOn({ client, connectTimeoutMs: 300 });
      let state = said("one");
      await expect.poll(() => checkpointer.save(state, "t").then(() => "saved", String)).toBe("saved");
      await expect.poll(() => borrowed.exists("t").catch(String)).toBe(true);
      for (let life = 0; life < 2; life++) {
        await mortal.kill();
        state = state.withMessage(userMessage(`life ${life}`));
        const failures = Array.from({ length: 30 }, () => checkpointer.save(state, "t").catch(({ code }) => code));
        expect(new Set(await Promise.all(failures))).toEqual(new Set(["UNAVAILABLE"]));
        await expect(borrowed.load("t")).rejects.toMatchObject({ code: expect.stringMatching(/UNAVAILABLE|TIMEOUT/) });
        await mortal.restart();
        await expect.poll(() => checkpointer.save(state, "t").then(() => "saved", String)).toBe("saved");
        expect((await checkpointer.load("t"))?.messages).toHaveLength(life + 2);
      }
      await expect.poll(() => borrowed.exists("t").catch(String)).toBe(true);
      await endClient(client);
    });
  });

  test("a full server that evicts nothing is STORAGE_FULL: nothing is half written, and deleting still works", async () => {
    const { server: full, admin } = await server({ "maxmemory-policy": "noeviction" });
    const checkpointer = checkpointerOn({ url: full.url });
    const first = await checkpointer.save(said("one"), "t");
    const state = (await checkpointer.load("t"))!;
    await checkpointer.save(state, "t");
    await checkpointer.save(said("other"), "u");
    await admin.config("SET", "maxmemory", "1");
    const next = state.withMessage(userMessage("two"));
    await expect(checkpointer.save(next, "t")).rejects.toMatchObject({ code: "STORAGE_FULL", retryable: false });
    await expect(checkpointer.save(said("new"), "v")).rejects.toMatchObject({ code: "STORAGE_FULL" });
    await expect(checkpointer.copyThread("t", "w")).rejects.toMatchObject({ code: "STORAGE_FULL" });
    await checkpointer.delete("t", { checkpointId: first });
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
    await checkpointer.delete("u");
    expect(await checkpointer.listThreads()).toEqual(["t"]);
    expect(await admin.zcard("holdfast:{index}:ids")).toBe(1);
    await admin.config("SET", "maxmemory", "0");
    await checkpointer.save(next, "t");
    expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
  });

  test("a user without a right is PERMISSION_DENIED, and what needs it is done whole or not at all", async () => {
    const { server: strict, admin } = await server();
    const all = ["on", ">password", "~*", "+@all"];
    await admin.call("ACL", ["SETUSER", "no-hdel", ...all, "-hdel"]);
    await admin.call("ACL", ["SETUSER", "no-hset", ...all, "-hset"]);
    await admin.call("ACL", ["SETUSER", "no-ttl", ...all, "-pexpireat", "-pexpire"]);
    await admin.call("ACL", ["SETUSER", "elsewhere", "on", ">password", "~other:*", "+@all"]);
    const boss = checkpointerOn({ url: strict.url });
    let state = said("one");
    const first = await boss.save(state, "t");
    state = state.withMessage(userMessage("two"));
    await boss.save(state, "t");
    const before = await admin.hgetall("holdfast:t:{t}");
    const user = (name: string): Checkpointer => checkpointerOn({ url: as(strict.url, name, "password") });
    const denied = { code: "PERMISSION_DENIED", retryable: false };
    await expect(user("no-hdel").delete("t", { checkpointId: first })).rejects.toMatchObject(denied);
    await expect(user("no-hdel").vacuum({ keepLast: 1 })).rejects.toMatchObject(denied);
    await expect(user("no-hset").save(said("new"), "u")).rejects.toMatchObject(denied);
    await expect(user("no-ttl").save(said("new"), "u", { ttlSeconds: 60 })).rejects.toMatchObject(denied);
    for (const call of [(c: Checkpointer) => c.load("t"), (c: Checkpointer) => c.listThreads()]) {
      await expect(call(user("elsewhere"))).rejects.toMatchObject(denied);
    }
    expect(await admin.hgetall("holdfast:t:{t}")).toEqual(before);
    expect(await boss.listThreads()).toEqual(["t"]);
  });

  test("a replica refuses saves as UNAVAILABLE, and is read from", async () => {
    const { server: primary, admin: boss } = await server({ "repl-diskless-sync-delay": "0" });
    // A server that has just created an append-only file refuses to shut down.
    const { server: replica, admin } = await server({ appendonly: "no" });
    const writer = checkpointerOn({ url: primary.url });
    for (const id of ["t", "gone"]) await writer.save(said("hello"), id);
    await boss.unlink("holdfast:t:{gone}");
    await admin.config("SET", "masterauth", new URL(primary.url).password);
    await admin.call("REPLICAOF", ["127.0.0.1", String(primary.port)]);
    const reader = checkpointerOn({ url: replica.url });
    await expect.poll(() => reader.load("t").catch(String)).toMatchObject({ messages: [{}] });
    expect(await reader.listThreads()).toEqual(["t"]);
    const failure = expect(reader.save(said("hello"), "u")).rejects;
    await failure.toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("READONLY") });
  });

  describe("durability", () => {
    const learnt = async (url: string): Promise<string> => {
      const checkpointer = checkpointerOn({ url });
      expect(checkpointer.capabilities.durability).toBe("memory");
      await checkpointer.load("t");
      return checkpointer.capabilities.durability;
    };

    test("follows the server's settings: each write synced, written, or kept in memory", async () => {
      const { server: set, admin } = await server();
      expect(await learnt(set.url)).toBe("fsync");
      await admin.config("SET", "appendfsync", "everysec");
      expect(await learnt(set.url)).toBe("os");
      await admin.config("SET", "appendonly", "no");
      expect(await learnt(set.url)).toBe("memory");
    });

    test("is that of memory where a full server may evict threads", async () => {
      const { server: evicting, admin } = await server();
      await admin.config("SET", "maxmemory-policy", "allkeys-lru");
      expect(await learnt(evicting.url)).toBe("fsync");
      await admin.config("SET", "maxmemory", "1gb");
      expect(await learnt(evicting.url)).toBe("memory");
    });

    test("is the lowest where the server does not tell its settings", async () => {
      const { server: closed, admin } = await server();
      await admin.call("ACL", ["SETUSER", "a", "on", ">password", "~*", "+@all", "-config"]);
      await admin.call("ACL", ["SETUSER", "b", "on", ">password", "~*", "+@all", "-config", "-info"]);
      expect(await learnt(as(closed.url, "a", "password"))).toBe("os");
      expect(await learnt(as(closed.url, "b", "password"))).toBe("memory");
    });

    test("that is weaker than required is reported once", async () => {
      const { server: weak } = await server({ appendfsync: "everysec" });
      const warnings: Error[] = [];
      const hear = (warning: Error): void => void warnings.push(warning);
      process.on("warning", hear);
      const checkpointer = checkpointerOn({ url: weak.url, durability: "fsync" });
      await checkpointer.load("t");
      await checkpointer.load("t");
      await new Promise((resolve) => setImmediate(resolve));
      process.off("warning", hear);
      const said = warnings.filter(({ name }) => name === "HoldfastWarning");
      expect(said.map(({ message }) => message)).toEqual([expect.stringContaining('gives "os"')]);
    });
  });
});
