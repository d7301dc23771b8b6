import { inspect } from "node:util";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { AT_ONCE_MS, endingOf } from "../../../test/ending.ts";
import { HELD_MS, HeldTimers } from "../../../test/held-timers.ts";
import { DIRECTIONS, startCuttingProxy } from "../../../test/network/cutting-proxy.ts";
import {
  describeWithOwnRedis,
  endClient,
  freshPrefix,
  IOREDIS,
  NODE_REDIS,
  PATIENT,
  said,
} from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import type { Lease } from "../../driver/connection.ts";
import type { RedisConnection } from "./connect.ts";
import { type RedisClient, type RedisConnectionOptions, redisCheckpointer, redisConnection } from "./index.ts";
import type { Link } from "./link.ts";
import type { Command } from "./port.ts";

const PATIENCE = { timeout: 60_000 };

/** A second facet, as small as possible: a counter. */
class Counter {
  readonly #link: Lease<Link>;
  readonly #key: string;

  constructor(connection: RedisConnection, prefix: string) {
    this.#link = connection.lease(async (link) => link);
    this.#key = `${prefix}counter`;
  }

  async add(): Promise<number> {
    return Number(await this.ask("INCR", this.#key));
  }

  async ask(...command: Command): Promise<unknown> {
    const link = await this.#link.get();
    const { port } = await link.server();
    return link.answer(port, port.send(this.#key, command));
  }

  close(): Promise<void> {
    return this.#link.release();
  }
}

await describeWithOwnRedis("a log and a second facet over one connection", () => {
  let server: TestServer;
  let admin: Redis;
  const opened: { close(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close();
  });

  function both(options: RedisConnectionOptions, retry = {}) {
    const prefix = freshPrefix();
    const connection = redisConnection({ ...PATIENT, ...options });
    const checkpointer = redisCheckpointer({ connection, prefix, retry });
    const counter = new Counter(connection, prefix);
    opened.push(checkpointer, counter);
    return { prefix, connection, checkpointer, counter };
  }

  async function proxied() {
    const proxy = await startCuttingProxy({ targetPort: server.port });
    opened.push(proxy);
    const place = new URL(server.url);
    place.port = String(proxy.port);
    return { proxy, url: place.href };
  }

  /** How many connections the server has, apart from the one that asks. */
  const connections = async (): Promise<number> =>
    String(await admin.client("LIST"))
      .trim()
      .split("\n").length - 1;

  describe.for([IOREDIS, NODE_REDIS])("with $name", ({ library, make }) => {
    test("use one connection", async () => {
      const { checkpointer, counter } = both({ url: server.url, library });
      const calls = Array.from({ length: 10 }, (_, index) => [
        checkpointer.save(said(`${index}`), `t${index}`),
        counter.add(),
      ]);
      await Promise.all(calls.flat());
      expect(await connections()).toBe(1);
      expect(await counter.add()).toBe(11);
      expect(await checkpointer.listThreads()).toHaveLength(10);
      await Promise.all([checkpointer.close(), counter.close()]);
      await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE);
    });

    test.for(["first", "last"])(
      "the log is closed %s: the other is not concerned, and the last closes",
      async (which) => {
        const { checkpointer, counter } = both({ url: server.url, library });
        await checkpointer.save(said("hello"), "t1");
        await counter.add();
        await (which === "first" ? checkpointer : counter).close();
        if (which === "first") {
          await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CLOSED" });
          expect(await counter.add()).toBe(2);
        } else {
          await expect(counter.add()).rejects.toMatchObject({ code: "CLOSED" });
          expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
        }
        expect(await connections()).toBe(1);
        await Promise.all([checkpointer.close(), counter.close()]);
        await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE);
      },
    );

    test("a call in progress is not disturbed when the other facet closes", async () => {
      const { checkpointer, counter, prefix } = both({ url: server.url, library });
      await checkpointer.save(said("hello"), "t1");
      const waiting = counter.ask("BLPOP", `${prefix}nothing`, "0.5");
      await checkpointer.close();
      expect(await waiting).toBeNull();
      expect(await counter.add()).toBe(1);
      await counter.close();
    });

    test("a server that cannot be reached is tried again by the next call of either", async () => {
      const { proxy, url } = await proxied();
      const { checkpointer, counter } = both({ url, library, connectTimeoutMs: 6_000 }, { attempts: 1 });
      proxy.refuse();
      await expect(counter.add()).rejects.toThrow();
      await expect(checkpointer.load("t1")).rejects.toMatchObject({ retryable: true });
      proxy.restore();
      await Promise.all([checkpointer.save(said("hello"), "t1"), counter.add()]);
    });

    test("a connection that fell silent is replaced once, for both", async () => {
      const { proxy, url } = await proxied();
      const limits = HeldTimers.forThisTest();
      const { checkpointer, counter } = both({ url, library, commandTimeoutMs: HELD_MS });
      await Promise.all([checkpointer.save(said("hello"), "t1"), counter.add()]);
      const before = proxy.connections;
      proxy.silence(...DIRECTIONS);
      const unheard = expect(counter.add()).rejects.toMatchObject({ code: "TIMEOUT" });
      await limits.untilOneWaits();
      limits.expire();
      await unheard;
      expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
      await counter.add();
      expect(proxy.connections).toBe(before + 1);
    });

    test("a client that was handed in survives both, and has an error listener as long as one of them holds it", async () => {
      const client = make(server.url) as RedisClient & { listenerCount(event: string): number };
      const before = client.listenerCount("error");
      const { checkpointer, counter, connection } = both({ client });
      expect(client.listenerCount("error")).toBe(before + 1);
      await checkpointer.save(said("hello"), "t1");
      await checkpointer.close();
      expect(client.listenerCount("error")).toBeGreaterThan(before);
      expect(await counter.add()).toBe(1);
      await counter.close();
      expect(client.listenerCount("error")).toBe(before);
      expect(await connections()).toBe(1);
      const again = redisCheckpointer({ connection, prefix: freshPrefix() });
      expect(await again.load("t1")).toBeUndefined();
      expect(client.listenerCount("error")).toBe(before + 1);
      await again.close();
      await endClient(client);
      await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE);
    });

    test("a program that closes neither ends by itself", async () => {
      const { code, said: words, complaints, lingeredMs } = await endingOf("redis", server.url, library);
      expect({ code, words, complaints }).toEqual({ code: 0, words: ["loaded", "loaded"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });
  });

  test("a connection shows no password when printed", () => {
    const connection = redisConnection({ url: "redis://me:s3cret-word@cache.example" });
    expect(connection.secrets).toEqual(["s3cret-word"]);
    const printed = inspect(connection, { depth: 10, showHidden: true }) + JSON.stringify(connection);
    expect(printed).not.toContain("s3cret-word");
  });

  test("options that belong to the connection are refused beside one, and so is a value that is not a connection", () => {
    const connection = redisConnection();
    expect(() => redisCheckpointer({ connection, url: server.url })).toThrow(
      /url is the connection's own; .*redisConnec/,
    );
    expect(() => redisCheckpointer({ connection: admin as never })).toThrow(
      /must be what redisConnection\(\) returned/,
    );
    expect(() => redisConnection({ url: `${server.url}?prefix=a:` })).toThrow(/unknown parameter "prefix"/);
    expect(() => redisConnection({ prefix: "a:" } as never)).toThrow(/redisConnection\(\).*prefix/);
    expect(() => redisConnection({ client: {} as never })).toThrow(/not one of the known ones/);
  });
});
