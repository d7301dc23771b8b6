import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { AgentSession } from "../../src/wiring/agent-session.ts";
import { UserStore } from "../../src/wiring/user-store.ts";
import { describeWithService } from "../services/with-service.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-user-store-"));
afterAll(() => rm(folder, { recursive: true }));

async function behaves(store: UserStore, userId = "u1"): Promise<void> {
  await store.set(userId, "email", "alice@example.com");
  await store.set(userId, "prefs", { dark: true, since: new Date(0) });
  await store.set(userId, "email", "alice@example.org");
  await store.set(`${userId}2`, "email", "bob@example.com");
  expect(await store.get(userId, "email")).toBe("alice@example.org");
  expect(await store.get(userId, "prefs")).toEqual({ dark: true, since: new Date(0) });
  expect(await store.get(userId, "missing")).toBeUndefined();
  expect(await store.get(userId, "missing", "nothing")).toBe("nothing");
  expect((await store.list(userId)).map(({ key }) => key)).toEqual(["email", "prefs"]);
  expect(await store.deleteUser(userId)).toBe(2);
  expect(await store.deleteUser(userId)).toBe(0);
  expect(await store.list(userId)).toEqual([]);
  expect(await store.get(`${userId}2`, "email")).toBe("bob@example.com");
  await store.close();
  await expect(store.get(userId, "email")).rejects.toMatchObject({ code: "CLOSED" });
}

test("keeps values by user and key, and deletes one user's and no other's", async () => {
  await behaves(new UserStore({ backend: `sqlite:${join(folder, "users.db")}` }));
  await behaves(new UserStore({ backend: new InMemoryStore() }));
});

for (const service of ["postgres", "redis"] as const) {
  await describeWithService(service, (url) => {
    test(`does the same on ${service}`, () => behaves(new UserStore({ backend: url }), `u-${Math.random()}`));
  });
}

test("deleting a user leaves process checkpoints byte for byte as they were, also in one file", async () => {
  const path = join(folder, "both.db");
  const session = new AgentSession({ sessionId: "s1", userId: "u1", backend: `sqlite:${path}` });
  session.setWorking("draft", "about alice");
  await session.checkpoint("done");
  const backend = sqliteCheckpointer({ path });
  const stored = () => contextOf(backend)?.log.readRecords("session:s1", { limit: 100 });
  const before = await stored();
  expect(before?.records).toHaveLength(1);
  const store = new UserStore({ backend: `sqlite:${path}` });
  await store.set("u1", "email", "canary@example.com");
  expect(await store.deleteUser("u1")).toBe(1);
  await store.close();
  expect(await stored()).toEqual(before);
  await backend.close();
  expect(await session.getCheckpoint("done")).toEqual({ draft: "about alice" });
  await session.close();
  const bytes = (await readFile(path)).toString("latin1");
  const holds = (text: string): boolean => bytes.includes(text);
  expect(["user_items", "holdfast_records", "canary@example.com"].map(holds)).toEqual([true, true, false]);
});

test("what is not a store, and a user without an id, are refused", async () => {
  expect(() => new UserStore({ backend: {} as never })).toThrow(/takes a store or a URL/);
  expect(() => new UserStore({ path: "x" } as never)).toThrow(/no option "path"/);
  const store = new UserStore({ backend: new InMemoryStore() });
  await expect(store.set("", "k", 1)).rejects.toThrow(/must not be empty/);
  await expect(store.set("u", "", 1)).rejects.toThrow(/key/);
  await expect(store.set("u", "k", () => undefined)).rejects.toThrow(/function/);
});
