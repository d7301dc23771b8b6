import { afterAll, beforeAll, expect, test } from "vitest";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import type { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { createToken, type RunningService, serve } from "../../src/entry/server.ts";
import { AgentState, textOf, userMessage } from "../../src/index.ts";
import { HOSTILE_IDS } from "../../src/testing/hostile-ids.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { SCOPES } from "../../src/wire/protocol.ts";
import { sqliteFolder } from "./served.ts";

/** Names that are beginnings of each other, and of what ids may hold. */
const TENANTS = ["a", "ab", "a.b", "a-", "A"] as const;
type Tenant = (typeof TENANTS)[number];

const tokens = Object.fromEntries(TENANTS.map((tenant) => [tenant, createToken()])) as Record<
  Tenant,
  ReturnType<typeof createToken>
>;
let service: RunningService;
let folder: Awaited<ReturnType<typeof sqliteFolder>>;
let log: SqliteLog;
let behind: Checkpointer;

beforeAll(async () => {
  folder = await sqliteFolder();
  log = folder.open();
  behind = new Checkpointer(log);
  const known = TENANTS.map((tenant) => ({ tenant, sha256: tokens[tenant].sha256, scopes: SCOPES }));
  service = await serve({ checkpointer: behind, auth: { tokens: known }, port: 0, rateLimit: false });
});
afterAll(async () => {
  await service.close();
  await behind.close();
  await folder.remove();
});

const client = (tenant: Tenant): HTTPCheckpointer =>
  new HTTPCheckpointer({ baseUrl: service.url, token: tokens[tenant].token, retry: { attempts: 1 } });

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

test("two tokens and one thread id are two threads", async () => {
  for (const tenant of TENANTS) await client(tenant).save(said(`said to ${tenant}`), "same", { metadata: { kind: 1 } });
  for (const tenant of TENANTS) {
    expect((await client(tenant).load("same"))?.messages.map(textOf)).toEqual([`said to ${tenant}`]);
  }
});

test("lists, searches and queries see the tenant's own threads alone", async () => {
  for (const tenant of TENANTS) {
    await client(tenant).save(said(`canary ${tenant}`), "found", { metadata: { colour: "red" } });
    await client(tenant).save(said(`canary ${tenant}`), `${tenant}/found`, { metadata: { colour: "red" } });
  }
  for (const tenant of TENANTS) {
    const own = ["found", `${tenant}/found`].sort();
    const checkpointer = client(tenant);
    const hits = await checkpointer.search("canary", { limit: 100 });
    expect(hits.map(({ threadId }) => threadId).sort()).toEqual(own);
    const within = await checkpointer.search("canary", { limit: 100, threadPrefix: `${tenant}/` });
    expect(within.map(({ threadId }) => threadId)).toEqual([`${tenant}/found`]);
    const matches = await checkpointer.queryByMetadata("colour", "red");
    expect(matches.map(({ threadId }) => threadId).sort()).toEqual(own);
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await checkpointer.listThreads({ limit: 1, ...(cursor !== undefined && { cursor }) });
      listed.push(...page);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(listed.sort()).toEqual([...own, "same"].sort());
  }
});

test("every hostile id is a thread of each tenant's own, and no id reaches into another tenant", async () => {
  const [one, other] = [client("a"), client("ab")];
  const ids = [...HOSTILE_IDS, "../ab/same", "/same", "ab/same", "b/same"];
  for (const id of ids) await one.save(said(`one ${id}`), id);
  for (const id of ids) expect(await other.exists(id), id.slice(0, 40)).toBe(false);
  for (const id of ids) expect((await one.load(id))?.messages.map(textOf)).toEqual([`one ${id}`]);
  expect((await other.load("same"))?.messages.map(textOf)).toEqual(["said to ab"]);
});

test("an id as long as ids may be is taken behind the longest prefix, and listed as it was given", async () => {
  const id = "é".repeat(512);
  expect(Buffer.byteLength(id)).toBe(1024);
  await client("a.b").save(said("long"), id);
  expect((await client("a.b").load(id))?.messages.map(textOf)).toEqual(["long"]);
  expect([...(await client("a.b").listThreads({ pattern: "éé*" }))]).toEqual([id]);
  await expect(client("a.b").load(`${id}x`)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("vacuum and delete touch the tenant's own threads alone", async () => {
  const [one, other] = [client("a"), client("ab")];
  for (const checkpointer of [one, other]) {
    let state = said("1");
    await checkpointer.save(state, "old");
    state = state.withMessage(userMessage("2"));
    await checkpointer.save(state, "old");
  }
  await one.vacuum({ keepLast: 1 });
  expect(await one.listCheckpoints("old")).toHaveLength(1);
  expect(await other.listCheckpoints("old")).toHaveLength(2);
  expect(await one.delete("old")).toBe(true);
  expect(await other.exists("old")).toBe(true);
});

test("copies and forks stay with the tenant", async () => {
  const one = client("a");
  expect(await one.copyThread("same", "ab/copied")).toBe(true);
  await one.fork("same", "forked");
  expect(await client("ab").exists("copied")).toBe(false);
  expect(await one.exists("ab/copied")).toBe(true);
  expect(await client("ab").exists("forked")).toBe(false);
});

test("a cursor of one tenant, or of another listing, is no cursor of this one", async () => {
  const { cursor = "" } = await client("a").listThreads({ limit: 1 });
  expect(cursor).not.toContain("a/");
  expect(Buffer.from(cursor, "base64url").toString()).not.toContain("ab/");
  for (const attempt of [
    () => client("ab").listThreads({ cursor, limit: 1 }),
    () => client("a").queryByMetadata("colour", "red", { cursor }),
    () => client("a").listThreads({ cursor: `${cursor}x`, limit: 1 }),
    () => client("a").listThreads({ cursor: "é".repeat(20), limit: 1 }),
    () => client("a").listThreads({ cursor: "a/", limit: 1 }),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  await expect(client("a").listThreads({ cursor, limit: 1 })).resolves.toBeDefined();
});

test("a watch of one tenant hears nothing of another's thread of the same name", async () => {
  const stop = new AbortController();
  const watching = client("a").watch("quiet", { signal: stop.signal })[Symbol.asyncIterator]().next();
  await client("ab").save(said("elsewhere"), "quiet");
  expect(await client("a").exists("quiet")).toBe(false);
  stop.abort();
  expect((await watching).done).toBe(true);
});

test("a record of one tenant that cannot be read does not stop another's search", async () => {
  await log.append("a/garbage", requestFor(recordAt(1)));
  await client("ab").save(said("needle after the garbage"), "clean");
  expect((await client("ab").search("needle")).map(({ threadId }) => threadId)).toEqual(["clean"]);
});

test("200 requests of five tenants at once each get their own answer", async () => {
  const clients = TENANTS.map((tenant) => ({ tenant, checkpointer: client(tenant) }));
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const { tenant, checkpointer } = clients[index % clients.length]!;
      const state = await checkpointer.load("same");
      expect(state?.messages.map(textOf)).toEqual([`said to ${tenant}`]);
    }),
  );
});
