import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { describeWithOwnRedis, PATIENT, said } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import { userMessage } from "../../state/message.ts";
import { PersonalData } from "../../wiring/personal-data.ts";
import { InMemoryStore } from "../memory/index.ts";
import { redisCheckpointer, redisStore } from "./index.ts";

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

/** A server that this test alone uses, and that is full once `fill` was called. */
async function serverOf() {
  const server = await startRedis({ settings: { "maxmemory-policy": "noeviction" } });
  const admin = new Redis(server.url);
  opened.push({ close: () => server.stop() }, { close: async () => admin.disconnect() });
  return { url: server.url, admin, fill: () => admin.config("SET", "maxmemory", "1") };
}

const FULL = { code: "STORAGE_FULL", context: { written: "no" } };

await describeWithOwnRedis("a Redis that has no memory left", () => {
  describe("threads", () => {
    /** A thread of this many checkpoints. */
    async function threadOf(url: string, checkpoints: number) {
      const checkpointer = redisCheckpointer({ url, ...PATIENT });
      opened.push(checkpointer);
      const ids = [await checkpointer.save(said("words ".repeat(50)), "t")];
      for (let at = 1; at < checkpoints; at++) {
        const state = await checkpointer.load("t");
        if (state !== undefined) ids.push(await checkpointer.save(state.withMessage(userMessage(`turn ${at}`)), "t"));
      }
      return { checkpointer, ids };
    }

    test("what takes records out works, and what adds any is refused and says that nothing was written", async () => {
      const { url, fill } = await serverOf();
      const { checkpointer, ids } = await threadOf(url, 6);
      const state = await checkpointer.load("t");
      await fill();
      await checkpointer.delete("t", { checkpointId: ids[2] ?? "" });
      expect((await checkpointer.listCheckpoints("t")).map(({ checkpointId }) => checkpointId)).not.toContain(ids[2]);
      await checkpointer.vacuum({ keepLast: 1 });
      expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
      expect((await checkpointer.load("t"))?.messages).toHaveLength(6);
      const next = (state ?? said("never")).withMessage(userMessage("more"));
      await expect(checkpointer.save(next, "t")).rejects.toMatchObject(FULL);
      await expect(checkpointer.save(said("new"), "v")).rejects.toMatchObject(FULL);
      await expect(checkpointer.copyThread("t", "w")).rejects.toMatchObject({ code: "STORAGE_FULL" });
      expect((await checkpointer.load("t"))?.messages).toHaveLength(6);
    });

    test("a lease is taken for the first time, renewed, released and taken again, and none is a way to save", async () => {
      const { url, fill } = await serverOf();
      const { checkpointer } = await threadOf(url, 2);
      const state = (await checkpointer.load("t")) ?? said("never");
      await fill();
      const held = await checkpointer.withLease(
        "t",
        async (lease) => {
          // Longer than a lease that is not renewed.
          const { expiresAt } = (await checkpointer.leaseOf("t")) ?? {};
          await expect.poll(async () => (await checkpointer.leaseOf("t"))?.expiresAt).not.toEqual(expiresAt);
          const next = state.withMessage(userMessage("more"));
          await expect(checkpointer.save(next, "t", { lease })).rejects.toMatchObject(FULL);
          return checkpointer.leaseOf("t");
        },
        { ttlMs: 1500 },
      );
      expect(held).toBeDefined();
      expect(await checkpointer.leaseOf("t")).toBeUndefined();
      expect(await checkpointer.withLease("t", async () => "again")).toBe("again");
    });

    test("appends of several threads that wait together are judged one by one", async () => {
      const { url, fill } = await serverOf();
      const { checkpointer } = await threadOf(url, 3);
      const names = ["u", "v", "w"];
      for (const name of names) await checkpointer.copyThread("t", name);
      const states = await Promise.all(names.map((name) => checkpointer.load(name)));
      await fill();
      const [shrunk, ...grown] = await Promise.allSettled([
        checkpointer.vacuum({ keepLast: 2 }),
        ...states.map((state, at) =>
          checkpointer.save((state ?? said("never")).withMessage(userMessage("more")), names[at] ?? ""),
        ),
      ]);
      expect(shrunk).toMatchObject({ status: "fulfilled" });
      for (const refused of grown) expect(refused).toMatchObject({ status: "rejected", reason: FULL });
      for (const name of ["t", ...names]) expect(await checkpointer.listCheckpoints(name)).toHaveLength(2);
    });
  });

  describe("items", () => {
    test("what is deleted, cleared or replaced by less goes, and what adds is refused and says that nothing was written", async () => {
      const { url, fill } = await serverOf();
      const store = redisStore({ url, ...PATIENT });
      opened.push(store);
      const long = { text: "words of an item ".repeat(40) };
      for (const key of ["a", "b", "c", "d"]) await store.put(["n"], key, long);
      await store.put(["m"], "e", long);
      await fill();
      for (const value of [{ ...long, more: long }, long]) {
        expect(await failureOf(() => store.put(["n"], "new", value))).toMatchObject(FULL);
        expect(await failureOf(() => store.put(["n"], "a", { ...value, more: long }))).toMatchObject(FULL);
      }
      await store.put(["n"], "a", { text: "less" });
      expect(await store.get(["n"], "a")).toEqual({ text: "less" });
      expect(await store.delete(["n"], "b")).toBe(true);
      expect(await store.delete(["n"], "none")).toBe(false);
      expect(await store.clearNamespace(["m"])).toBe(1);
      expect((await store.listKeys(["n"])).slice()).toEqual(["a", "c", "d"]);
      expect((await store.search(["n"], "less")).map(({ key }) => key)).toEqual(["a"]);
    });

    test("a person is erased from all that is there, also with the ledger in the same store and not a byte of room", async () => {
      const { url, fill } = await serverOf();
      const store = redisStore({ url, ...PATIENT });
      const checkpointer = redisCheckpointer({ url, ...PATIENT });
      opened.push(store, checkpointer);
      const about = { metadata: { subject: "ada" } };
      await store.put(["users", "ada"], "profile", { text: "likes cats" }, about);
      await store.put(["shared"], "list", [{ "holdfast:subject": "ada", value: "Ada" }, { value: "Bob" }]);
      await store.put(["users", "bob"], "profile", { text: "likes dogs" }, { metadata: { subject: "bob" } });
      await checkpointer.save(said("hello").withMessage(userMessage("I am Ada", about)), "t");
      await fill();
      expect(await failureOf(() => store.put(["users", "bob"], "more", { text: "little" }))).toMatchObject(FULL);
      const data = new PersonalData({
        checkpointers: [checkpointer],
        stores: [store],
        ledger: store,
        key: "k".repeat(32),
      });
      expect(await data.eraseUser("ada")).toMatchObject({ verified: true });
      expect(await store.exists(["users", "ada"], "profile")).toBe(false);
      expect(JSON.stringify(await store.get(["shared"], "list"))).not.toContain("Ada");
      expect(JSON.stringify(await store.get(["shared"], "list"))).toContain("Bob");
      expect(JSON.stringify(await checkpointer.load("t"))).not.toContain("I am Ada");
      expect(await data.eraseUser("bob")).toMatchObject({ verified: true });
      expect(await failureOf(() => store.put(["users", "ann"], "profile", { text: "new" }))).toMatchObject(FULL);
    });

    test("a person is erased whose ledger lies elsewhere", async () => {
      const { url, admin } = await serverOf();
      const store = redisStore({ url, ...PATIENT });
      opened.push(store);
      await store.put(["users", "ada"], "profile", { text: "likes cats" }, { metadata: { subject: "ada" } });
      await store.put(["users", "bob"], "profile", { text: "likes dogs" }, { metadata: { subject: "bob" } });
      for (let at = 0; at < 50; at++) {
        await store.put(
          ["users", "ada"],
          `${at}`,
          { text: "words of ada ".repeat(200) },
          { metadata: { subject: "ada" } },
        );
      }
      await admin.config("SET", "maxmemory", /used_memory:(\d+)/.exec(await admin.info("memory"))?.[1] ?? "");
      expect(await failureOf(() => store.put(["users", "bob"], "more", { text: "much ".repeat(999) }))).toMatchObject(
        FULL,
      );
      const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: "k".repeat(32) });
      expect(await data.eraseUser("ada")).toMatchObject({ verified: true });
      expect(await store.exists(["users", "ada"], "profile")).toBe(false);
      expect(await store.exists(["users", "bob"], "profile")).toBe(true);
    });
  });
});
