import { afterAll, beforeAll, expect, test } from "vitest";
import { HTTPStore } from "../../src/backends/http/index.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { createToken, type RunningService, serve } from "../../src/entry/server.ts";
import { SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { failureOf } from "../failure-of.ts";
import { type RawAnswer, rawRequest } from "./raw-requests.ts";

/** Names that are beginnings of each other. */
const TENANTS = ["a", "ab", "a.b", "A"] as const;
type Tenant = (typeof TENANTS)[number];

const tokens = Object.fromEntries(TENANTS.map((tenant) => [tenant, createToken()])) as Record<
  Tenant,
  ReturnType<typeof createToken>
>;
const some = Object.fromEntries(SCOPES.map((scope) => [scope, createToken()])) as Record<
  Scope,
  ReturnType<typeof createToken>
>;
const adds = createToken();
const store = new InMemoryStore();
let service: RunningService;

beforeAll(async () => {
  const known = [
    ...TENANTS.map((tenant) => ({ tenant, sha256: tokens[tenant].sha256, scopes: SCOPES })),
    ...SCOPES.map((scope) => ({ tenant: "a", sha256: some[scope].sha256, scopes: [scope] })),
    { tenant: "a", sha256: adds.sha256, scopes: ["items:read", "items:write"] as const },
  ];
  service = await serve({ store, auth: { tokens: known }, port: 0, rateLimit: false });
});
afterAll(async () => {
  await service.close();
  await store.close();
});

const clientOf = (token: string, options: object = {}): HTTPStore =>
  new HTTPStore({ baseUrl: service.url, token, retry: { attempts: 1 }, ...options });
const client = (tenant: Tenant): HTTPStore => clientOf(tokens[tenant].token);

async function raw(token: string, operation: Parameters<typeof pathOf>[0], body: object): Promise<RawAnswer> {
  const headers = { host: "localhost", authorization: `Bearer ${token}`, "content-type": "application/json" };
  return rawRequest(service.port, { method: "POST", path: pathOf(operation), headers, body: JSON.stringify(body) });
}

test("two tokens and one name are two items, for every way to look", async () => {
  for (const tenant of TENANTS) {
    const own = client(tenant);
    await own.putWithEmbedding(["docs", tenant], "same", { text: `canary of ${tenant}` }, [1, TENANTS.indexOf(tenant)]);
    await own.putWithEmbedding(["docs"], "same", { text: `canary of ${tenant}` }, [1, TENANTS.indexOf(tenant)]);
  }
  for (const tenant of TENANTS) {
    const own = client(tenant);
    const names = ["docs", `docs/${tenant}`].sort();
    const seen = (items: readonly { namespace: readonly string[]; value: unknown }[]): readonly string[] => {
      for (const { value } of items) expect(value).toEqual({ text: `canary of ${tenant}` });
      return items.map(({ namespace }) => namespace.join("/")).sort();
    };
    expect(await own.get(["docs"], "same")).toEqual({ text: `canary of ${tenant}` });
    expect(seen(await own.list([], { recursive: true }))).toEqual(names);
    expect(seen(await own.search([], "canary"))).toEqual(names);
    expect(seen(await own.searchByEmbedding([], { query: [1, 1] }))).toEqual(names);
    expect((await own.listNamespaces()).map((namespace) => namespace.join("/")).sort()).toEqual(names);
    expect(await own.getEmbedding(["docs"], "same")).toEqual([1, TENANTS.indexOf(tenant)]);
    for (const other of TENANTS.filter((each) => each !== tenant)) {
      expect(await own.get(["docs", other], "same")).toBeUndefined();
      expect(await own.list([other], { recursive: true })).toEqual([]);
    }
  }
  expect(await client("ab").clearNamespace([], { recursive: true })).toBe(2);
  expect(await client("a").list([], { recursive: true })).toHaveLength(2);
  for (const tenant of TENANTS) await client(tenant).clearNamespace([], { recursive: true });
});

test("vectors of one tenant do not decide how long another's are", async () => {
  await client("a").putWithEmbedding(["v"], "k", 1, [1, 2, 3]);
  await client("ab").putWithEmbedding(["v"], "k", 1, [1, 2]);
  await expect(client("a").putWithEmbedding(["v"], "x", 1, [1, 2])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a write key that another tenant used makes a write of its own", async () => {
  const put = (value: string): object => ({
    changes: [
      { kind: "put", namespace: ["keys"], key: "k", writeKey: "taken", digest: value, version: `v${value}`, value },
    ],
  });
  expect((await raw(tokens.a.token, "writeItems", put("1"))).status).toBe(200);
  const answer = await raw(tokens.ab.token, "writeItems", put("2"));
  expect(JSON.parse(answer.body)).toMatchObject({ applied: true, results: [{ repeated: false }] });
  expect([await client("a").get(["keys"], "k"), await client("ab").get(["keys"], "k")]).toEqual([1, 2]);
});

test("a list continued behind a name outside the scope shows nothing outside it", async () => {
  const own = client("A");
  for (const name of ["a", "m", "z"]) await own.put([name], "k", name);
  const behind = async (namespace: string): Promise<unknown> => {
    const scan = { namespace: ["m"], recursive: true, limit: 9, after: { namespace: [namespace], key: "k" } };
    const answer = await raw(tokens.A.token, "scanItems", scan);
    return (JSON.parse(answer.body) as { items: { key: string }[] }).items.length;
  };
  expect([await behind("a"), await behind("m"), await behind("z")]).toEqual([1, 0, 0]);
  const walk = await raw(tokens.A.token, "listNamespaces", { prefix: ["m"], after: ["a"], limit: 9 });
  expect(JSON.parse(walk.body)).toEqual({ namespaces: [["m"]] });
});

test("a token does what its scope says: one that adds takes nothing out, and one that deletes reads nothing", async () => {
  const adding = clientOf(adds.token);
  await adding.put(["scoped"], "k", "kept");
  for (const work of [
    () => adding.delete(["scoped"], "k"),
    () => adding.clearNamespace(["scoped"]),
    () => adding.put(["scoped"], "k", "gone", { ttlSeconds: 1 }),
    () => adding.update(["scoped"], "k", () => undefined),
  ]) {
    expect(await failureOf(work)).toMatchObject({ code: "PERMISSION_DENIED" });
  }
  expect(await adding.get(["scoped"], "k")).toBe("kept");
  const mixed = {
    changes: [
      { kind: "put", namespace: ["scoped"], key: "new", writeKey: "1", digest: "d", version: "v", value: "1" },
      { kind: "remove", namespace: ["scoped"], key: "k", writeKey: "2", digest: "d" },
    ],
  };
  expect((await raw(adds.token, "writeItems", mixed)).status).toBe(403);
  expect((await raw(some["items:delete"].token, "removeItems", mixed)).status).toBe(400);
  expect(await adding.exists(["scoped"], "new")).toBe(false);
  const deleting = clientOf(some["items:delete"].token);
  expect(await failureOf(() => deleting.get(["scoped"], "k"))).toMatchObject({ code: "PERMISSION_DENIED" });
  expect(await failureOf(() => deleting.put(["scoped"], "k", 1))).toMatchObject({ code: "PERMISSION_DENIED" });
  expect(await deleting.delete(["scoped"], "k")).toBe(true);
  await adding.put(["scoped"], "k", "kept");
  await adding.put(["holdfast:holds"], "h1", {
    id: "h1",
    subject: "ann",
    reason: "case",
    placedBy: "x",
    placedAt: "now",
  });
  for (const work of [() => deleting.delete(["scoped"], "k"), () => deleting.clearNamespace(["scoped"])]) {
    expect(await failureOf(work)).toMatchObject({ code: "HELD", message: expect.stringContaining("items:read") });
  }
  expect(await adding.get(["scoped"], "k")).toBe("kept");
  const threads = clientOf(some["threads:delete"].token);
  for (const work of [() => threads.get(["scoped"], "k"), () => threads.put(["scoped"], "k", 1)]) {
    expect(await failureOf(work)).toMatchObject({ code: "PERMISSION_DENIED" });
  }
});
