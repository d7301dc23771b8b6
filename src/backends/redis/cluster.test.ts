import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis, endClient, IOREDIS, NODE_REDIS, PATIENT, said } from "../../../test/redis/fixtures.ts";
import { userMessage } from "../../state/message.ts";
import { HOSTILE_IDS } from "../../testing/hostile-ids.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";
import { redisLogOptions } from "./checkpointer.ts";
import { redisCheckpointer, redisStore } from "./index.ts";
import { ANNOUNCED_BEFORE_MS, CREATE_WITHIN_MS } from "./layout.ts";
import { RedisLog } from "./log.ts";

await describeWithOwnRedis("a Redis cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    for (const admin of cluster.admins) await admin.flushall();
  });

  /** The result of a command on the node that has the key. */
  async function onItsNode(command: string, ...args: readonly string[]): Promise<unknown> {
    for (const admin of cluster.admins) {
      const answer = await admin.call(command, [...args]).catch((error: Error) => error);
      if (!(answer instanceof Error && answer.message.startsWith("MOVED"))) return answer;
    }
    throw new Error("no node has the key");
  }
  const indexed = () => onItsNode("ZRANGE", "holdfast:{index}:ids", "0", "-1");
  const secondsAgo = async (seconds: number): Promise<string> => {
    const [now] = (await cluster.admins[0]?.time()) ?? [];
    return String((Number(now) - seconds) * 1000);
  };

  describe.for([IOREDIS, NODE_REDIS])("with $name", ({ library, makeCluster, make }) => {
    test("threads of every id are saved, loaded, copied, listed and deleted, on whichever node they are", async () => {
      await using checkpointer = redisCheckpointer({ url: cluster.url, library });
      const ids = HOSTILE_IDS.slice(0, 40);
      for (const id of ids) await checkpointer.save(said(id), id);
      const sizes = await Promise.all(cluster.admins.map((admin) => admin.dbsize()));
      for (const size of sizes) expect(size).toBeGreaterThan(0);
      for (const id of ids) {
        const state = await checkpointer.load(id);
        await checkpointer.save(state!.withMessage(userMessage("more")), id);
      }
      expect([...(await checkpointer.listThreads({ limit: 100 }))].sort()).toEqual([...ids].sort());
      await checkpointer.copyThread(ids[0]!, "the copy");
      expect((await checkpointer.load("the copy"))?.messages).toHaveLength(2);
      for (const id of ids) expect(await checkpointer.delete(id)).toBe(true);
      expect(await checkpointer.listThreads()).toEqual(["the copy"]);
    });

    test("a store is on one node, and every kind of call works", async () => {
      await using store = redisStore({ url: cluster.url, library });
      const entries = Array.from({ length: 40 }, (_, index) => ({
        namespace: ["n", `${index % 4}`],
        key: `${index}`,
        value: { text: `walrus ${index}`, index },
        embedding: [1, index],
      }));
      await store.putBatch(entries);
      expect(await onItsNode("ZCARD", "holdfast:{store}:ids")).toBe(40);
      expect(await store.list(["n"], { recursive: true, filter: { index: { $lt: 3 } } })).toHaveLength(3);
      expect((await store.search(["n"], "walrus")).length).toBe(10);
      expect((await store.searchByEmbedding(["n"], { query: [1, 39], limit: 1 }))[0]?.key).toBe("39");
      expect((await store.update<{ index: number }>(["n", "0"], "0", () => ({ index: 100 })))?.value).toEqual({
        index: 100,
      });
      expect(await store.listNamespaces({ prefix: ["n"] })).toHaveLength(4);
      expect(await store.clearNamespace(["n"], { recursive: true })).toBe(40);
      expect(await onItsNode("HLEN", "holdfast:{store}:items"), "the note of what each part holds").toBe(1);
      expect(await onItsNode("EXISTS", "holdfast:{store}:words", "holdfast:{store}:vectors")).toBe(0);
    });

    test("a cluster client that is handed in is used, and stays open", async () => {
      const client = makeCluster(cluster.url);
      const checkpointer = redisCheckpointer({ client });
      await checkpointer.save(said("hello"), "t");
      await checkpointer.close();
      const again = redisCheckpointer({ client });
      expect((await again.load("t"))?.messages).toHaveLength(1);
      await again.close();
      await endClient(client);
    });

    test("a plain client that is handed in is refused before anything is written", async () => {
      const client = make(cluster.url);
      const checkpointer = redisCheckpointer({ client });
      const failure = expect(checkpointer.save(said("hello"), "t")).rejects;
      await failure.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("cluster client") });
      await checkpointer.close();
      await endClient(client);
      expect(await Promise.all(cluster.admins.map((admin) => admin.dbsize()))).toEqual([0, 0, 0]);
    });
  });

  test("a node that is down is UNAVAILABLE for its threads, never 'no thread'", async () => {
    const waiting = { connectTimeoutMs: 500, commandTimeoutMs: 1000 };
    await using checkpointer = redisCheckpointer({ url: cluster.url, retry: { attempts: 1 }, ...waiting });
    const ids = Array.from({ length: 12 }, (_, index) => `thread ${index}`);
    await using patient = redisCheckpointer({ url: cluster.url });
    for (const id of ids) await patient.save(said("hello"), id);
    for (const id of ids) await expect.poll(() => checkpointer.exists(id).catch(() => false)).toBe(true);
    await cluster.nodes[2]!.kill();
    const answers = await Promise.all(ids.map((id) => checkpointer.exists(id).catch((error) => error)));
    await cluster.nodes[2]!.restart();
    await cluster.untilWhole();
    const failures = answers.filter((answer) => answer !== true);
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: expect.stringMatching(/UNAVAILABLE|TIMEOUT/), retryable: true });
    }
    for (const id of ids) {
      await expect.poll(() => checkpointer.exists(id).catch(() => false)).toBe(true);
    }
  });

  describe("the index, which no script sees together with a thread", () => {
    test("a thread that was announced lately is not removed by a process that finds it absent", async () => {
      await using checkpointer = redisCheckpointer({ url: cluster.url });
      await checkpointer.save(said("hello"), "t");
      await onItsNode("UNLINK", "holdfast:t:{t}");
      expect(await checkpointer.listThreads()).toEqual([]);
      expect(await indexed()).toEqual(["t"]);
      await onItsNode("ZADD", "holdfast:{index}:new", await secondsAgo(ANNOUNCED_BEFORE_MS / 1000 + 5), "t");
      expect(await checkpointer.listThreads()).toEqual([]);
      expect(await indexed()).toEqual([]);
      expect(await onItsNode("EXISTS", "holdfast:{index}:new")).toBe(0);
    });

    test("a process that looked too long ago removes nothing", async () => {
      const log = new RedisLog(redisLogOptions({ url: cluster.url, ...PATIENT }));
      const checkpointer = redisCheckpointer({ url: cluster.url });
      await checkpointer.save(said("hello"), "t");
      await onItsNode("ZREM", "holdfast:{index}:new", "t");
      const { FORGET_ABSENT } = await import("./scripts/thread-index.ts");
      const keys = ["2", "holdfast:{index}:ids", "holdfast:{index}:new"];
      const late = [FORGET_ABSENT.source, ...keys, "t", await secondsAgo(90)];
      expect(await onItsNode("EVAL", ...late)).toBe("kept");
      expect(await indexed()).toEqual(["t"]);
      await log.close();
      await checkpointer.close();
    });

    test("a creation whose announcement is too old is refused, and announced again", async () => {
      const { APPEND, appendArguments } = await import("./scripts/append.ts");
      const entry = { seq: 1, writeId: "w", base: 1, head: 1, checkpointId: "c", header: "{}", metadata: undefined };
      const record = { ...entry, body: Buffer.from("body"), words: undefined };
      const createBefore = Number(await secondsAgo(CREATE_WITHIN_MS / 1000));
      const request = { expected: placeAt(0, "g"), record };
      const args = appendArguments(request, { threadId: "t", createBefore, lifetimeMs: undefined });
      expect(await onItsNode("EVAL", APPEND.source, "1", "holdfast:t:{t}", ...args.map(String))).toEqual(["late"]);
      expect(await onItsNode("EXISTS", "holdfast:t:{t}")).toBe(0);
    });

    test("announcements that no longer matter are removed by later ones", async () => {
      await using checkpointer = redisCheckpointer({ url: cluster.url });
      for (let index = 0; index < 8; index++) {
        await onItsNode("ZADD", "holdfast:{index}:new", await secondsAgo(3600), `old ${index}`);
      }
      await checkpointer.save(said("hello"), "t");
      expect(await onItsNode("ZRANGE", "holdfast:{index}:new", "0", "-1")).toEqual(["t"]);
    });

    test("creators and cleaners that race leave every thread in the index", async () => {
      await using checkpointer = redisCheckpointer({ url: cluster.url });
      await using cleaner = redisCheckpointer({ url: cluster.url });
      const ids = Array.from({ length: 30 }, (_, index) => `thread ${index}`);
      for (let round = 0; round < 4; round++) {
        await Promise.all([
          ...ids.map(async (id) => {
            await checkpointer.delete(id);
            await checkpointer.save(said("hello"), id);
          }),
          ...Array.from({ length: 5 }, () => cleaner.listThreads()),
        ]);
        expect([...(await cleaner.listThreads())].sort()).toEqual([...ids].sort());
      }
    });
  });
});
