import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWithOwnRedis, said } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { userMessage } from "../../state/message.ts";
import { redisCheckpointer } from "./index.ts";

/** Defects of other savers on Redis, as statements about this one. */
await describeWithOwnRedis("defects of other savers on Redis", () => {
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
  beforeEach(() => admin.flushall());

  const texts = (state: unknown): string => JSON.stringify(state);

  test("two branches of one checkpoint keep what each of them says (D2)", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url });
    const base = said("base");
    const point = await checkpointer.save(base, "main");
    for (const name of ["one", "two"]) {
      await checkpointer.fork("main", name, { at: point });
      const branch = await checkpointer.load(name);
      await checkpointer.save(branch!.withMessage(userMessage(`only in ${name}`)), name);
    }
    await checkpointer.save(base.withMessage(userMessage("only in main")), "main");
    for (const name of ["one", "two", "main"]) {
      const state = await checkpointer.load(name);
      expect(state?.messages).toHaveLength(2);
      expect(texts(state?.messages)).toContain(`only in ${name}`);
    }
    expect((await checkpointer.load("main", { checkpointId: point }))?.messages).toHaveLength(1);
  });

  test("the second of two runs on one thread gets an error, and nothing of either is lost silently (D8)", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url });
    await checkpointer.save(said("base"), "t");
    const [one, two] = [await checkpointer.load("t"), await checkpointer.load("t")];
    await checkpointer.save(one!.withMessage(userMessage("of one")), "t");
    const late = expect(checkpointer.save(two!.withMessage(userMessage("of two")), "t")).rejects;
    await late.toMatchObject({ code: "CONFLICT", context: { written: "no" } });
    expect(texts((await checkpointer.load("t"))?.messages)).toContain("of one");
  });

  test("deleting a thread leaves those whose ids begin with its id (D13)", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url });
    const others = ["user:42", "user:", "user:*", "user}", "{user}", "user2", "use"];
    for (const id of ["user", ...others]) await checkpointer.save(said(id), id);
    expect(await checkpointer.delete("user")).toBe(true);
    expect([...(await checkpointer.listThreads())].sort()).toEqual([...others].sort());
  });

  test("an id that is a pattern means the thread of that name and no other", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url });
    const patterns = ["*", "tenant-*", "tenant-?", "tenant-[ab]", "tenant\\a", "?", "[a-z]*"];
    const tenants = ["tenant-a", "tenant-b", "tenanta"];
    for (const id of tenants) await checkpointer.save(said(id), id);
    for (const pattern of patterns) {
      expect(await checkpointer.load(pattern)).toBeUndefined();
      expect(await checkpointer.delete(pattern)).toBe(false);
      await checkpointer.save(said(pattern), pattern);
      expect(await checkpointer.delete(pattern)).toBe(true);
    }
    expect(await checkpointer.listThreads()).toEqual(tenants);
    // Where a pattern is expected, it works as one.
    expect(await checkpointer.listThreads({ pattern: "tenant-?" })).toEqual(["tenant-a", "tenant-b"]);
  });

  test("the syntax of a search engine's query is text, in ids, keys and values", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url });
    const hostile = ["x}) | (@thread_id:{*", "})|(@thread_id:{*})|(@x", "@x:{*}", "*", "-@x"];
    await checkpointer.save(said("secret of another"), "other", { metadata: { tenant: "other" } });
    for (const text of hostile) {
      expect((await checkpointer.queryByMetadata("tenant", text)).length).toBe(0);
      expect((await checkpointer.queryByMetadata(text, "other")).length).toBe(0);
      expect(await checkpointer.load(text)).toBeUndefined();
      await checkpointer.save(said("mine"), text, { metadata: { tenant: text } });
      const found = await checkpointer.queryByMetadata("tenant", text);
      expect(found.map(({ threadId }) => threadId)).toEqual([text]);
    }
  });

  test("a server without any module is enough, and KEYS and SCAN are never sent", async () => {
    expect(await admin.call("MODULE", ["LIST"])).toEqual([]);
    await admin.config("RESETSTAT");
    await using checkpointer = redisCheckpointer({ url: server.url, ttlSeconds: 60 });
    const first = await checkpointer.save(said("hello world"), "t", { metadata: { a: 1 } });
    await checkpointer.save((await checkpointer.load("t"))!.withMessage(userMessage("more")), "t");
    await checkpointer.search("world");
    await checkpointer.queryByMetadata("a", 1);
    await checkpointer.fork("t", "u", { at: first });
    await checkpointer.copyThread("t", "v");
    await checkpointer.withLease("v", async () => undefined);
    await checkpointer.delete("t", { checkpointId: first });
    await checkpointer.vacuum({ keepLast: 1 });
    await checkpointer.listThreads();
    await checkpointer.delete("t");
    const commands = [...(await admin.info("commandstats")).matchAll(/^cmdstat_([^:]+):/gm)].map(([, name]) => name);
    expect(commands).toContain("evalsha");
    for (const name of commands) expect(name).not.toMatch(/^(?:keys|scan|hscan|hgetall|flush.*|ft\.|json\.)/);
  });

  test("a thread has one expiry, not one for each of its parts", async () => {
    await using checkpointer = redisCheckpointer({ url: server.url, ttlSeconds: 60 });
    let state = said("message 0");
    for (let step = 1; step <= 20; step++) {
      await checkpointer.save(state, "t", step === 20 ? { ttlSeconds: 1 } : {});
      state = state.withMessage(userMessage(`message ${step}`));
    }
    const seen: (number | undefined)[] = [];
    await expect
      .poll(async () => seen.push((await checkpointer.load("t"))?.messages.length) && seen.at(-1))
      .toBeUndefined();
    for (const count of seen) expect([20, undefined]).toContain(count);
    expect(await checkpointer.listThreads()).toEqual([]);
    expect(await checkpointer.search("message")).toEqual([]);
    expect(await admin.dbsize()).toBe(0);
  });
});
