import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { postgresqlStore } from "../../src/backends/postgres/store.ts";
import { redisStore } from "../../src/backends/redis/store.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { servedStore } from "../http/served-store.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { askedAnew, DINNER, dialogue, heldOf } from "./dialogue.ts";

/** The fifty turns again, where what is written is read back from a storage. */
function testMemoryOn(open: () => BaseStore): void {
  test("fifty turns: each fact once, corrections win, the cap holds, and another session recalls what matters", async () => {
    const store = open();
    afterAll(() => store.close());
    const talk = await dialogue({ store, maxMemories: 15 });
    const memories = await talk.shelf.list();
    expect(memories.length).toBeLessThanOrEqual(15);
    expect(new Set(memories.map(({ text }) => text)).size).toBe(memories.length);
    expect(heldOf(memories, "home city")).toEqual(["Bern"]);
    expect(memories.find(({ attribute }) => attribute === "home city")?.history).toMatchObject([{ value: "Zurich" }]);
    const { notes } = await askedAnew(talk, DINNER);
    expect(notes).toEqual(
      expect.arrayContaining(["The user is a vegan.", "The user's favourite dish is ratatouille."]),
    );
    expect(JSON.stringify(await store.list([], { recursive: true, limit: 200 }))).not.toMatch(/hunter2|evil/i);
  });
}

describe("http", async () => {
  const there = await servedStore(new InMemoryStore());
  afterAll(async () => there[Symbol.asyncDispose]());
  testMemoryOn(() => there.client());
});

describe("sqlite", () => testMemoryOn(() => sqliteStore({ path: ":memory:" })));

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);
  testMemoryOn(() => postgresqlStore({ dsn: url, schema, tablePrefix: prefix() }));
});

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  const keyPrefix = freshPrefix();
  afterAll(async () => {
    await clearPrefix(admin, keyPrefix);
    admin.disconnect();
  });
  testMemoryOn(() => redisStore({ url, prefix: keyPrefix }));
});
