import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { copyDatabase } from "../../../test/sqlite/copy-database.ts";
import type { Store } from "../../store/store.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { sqliteCheckpointer, sqliteConnection } from "./index.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteStore } from "./store.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-store-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

describe("sqlite", () => {
  testStore({
    name: "sqlite",
    test,
    afterAll,
    create: async () => {
      const path = freshPath();
      const clock = manualClock();
      const open = (): Store => sqliteStore({ path, now: clock.now });
      return { subject: open(), reopen: async () => open(), clock, copy: () => copyDatabase(path) };
    },
  });
});

test("threads and items lie in one file over one connection, and the last to close closes it", async () => {
  const path = freshPath();
  const connection = sqliteConnection({ path });
  const [checkpointer, store] = [sqliteCheckpointer({ connection }), sqliteStore({ connection })];
  await store.put(["a"], "k", 1);
  expect(await checkpointer.listThreads()).toEqual([]);
  await checkpointer.close();
  expect(await store.get(["a"], "k")).toBe(1);
  await store.close();
  expect(() => sqliteStore({ connection, path })).toThrow(/path is the connection's own/);
});

test("a program that only keeps threads makes no tables of items", async () => {
  const path = freshPath();
  const checkpointer = sqliteCheckpointer({ path });
  await checkpointer.listThreads();
  await checkpointer.close();
  const database = await openDatabase(path);
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'holdfast_item%'").all();
  expect(tables).toEqual([]);
  database.close();
});

test("nothing readable is left of what was deleted, replaced or ended: value, metadata, words", async () => {
  const path = freshPath();
  const clock = manualClock();
  const store = sqliteStore({ path, now: clock.now });
  const secret = (word: string) => ({ text: `the ${word} secret` });
  await store.put(["a"], "deleted", secret("zebra"), { metadata: { tag: "quagga" } });
  await store.put(["a"], "replaced", secret("okapi"));
  await store.put(["a"], "ended", secret("tapir"), { ttlSeconds: 1 });
  await store.put(["b"], "cleared", secret("dugong"));
  await store.delete(["a"], "deleted");
  await store.put(["a"], "replaced", { text: "other" });
  await store.clearNamespace(["b"]);
  clock.advance(2000);
  await store.put(["a"], "more", 1);
  await store.close();
  const bytes = await readFile(path, "latin1");
  for (const word of ["zebra", "quagga", "okapi", "tapir", "dugong"]) expect(bytes.includes(word), word).toBe(false);
  expect(bytes.includes("other")).toBe(true);
});

test("write ids that are too old to be retried are deleted, a few with each write", async () => {
  const path = freshPath();
  const clock = manualClock();
  const store = sqliteStore({ path, now: clock.now });
  for (let write = 0; write < 50; write++) await store.put(["a"], `${write}`, write);
  clock.advance(600_001);
  for (let write = 0; write < 5; write++) await store.put(["a"], `${write}`, write);
  await store.close();
  const database = await openDatabase(path);
  expect(database.prepare("SELECT count(*) AS n FROM holdfast_item_writes").get()).toMatchObject({ n: 5 });
  database.close();
});

test("a database with another encoding is refused, because its texts are in another order", async () => {
  const database = await openDatabase(freshPath());
  database.exec("PRAGMA encoding = 'UTF-16'");
  const store = sqliteStore({ database });
  expect(await failureOf(() => store.get(["a"], "k"))).toMatchObject({ code: "UNSUPPORTED" });
  await store.close();
  database.close();
});

test("a vector is found by another process's store as soon as it is put, and not once it is gone", async () => {
  const path = freshPath();
  const [one, other] = [sqliteStore({ path }), sqliteStore({ path })];
  const keys = async (): Promise<readonly string[]> =>
    (await other.searchByEmbedding(["v"], { query: [1, 0] })).map(({ key }) => key);
  await one.putWithEmbedding(["v"], "a", 1, [1, 0]);
  expect(await keys()).toEqual(["a"]);
  await one.putWithEmbedding(["v"], "a", 1, [-1, 0.1]);
  await one.putWithEmbedding(["v"], "b", 1, [1, 0.1]);
  expect(await keys()).toEqual(["b", "a"]);
  await one.delete(["v"], "b");
  expect(await keys()).toEqual(["a"]);
  await Promise.all([one.close(), other.close()]);
});
