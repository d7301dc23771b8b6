import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { HTTPStore } from "../../src/backends/http/index.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { postgresqlStore } from "../../src/backends/postgres/index.ts";
import { redisStore } from "../../src/backends/redis/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import { createToken, serve } from "../../src/entry/server.ts";
import type { Store } from "../../src/store/store.ts";
import { vectorText } from "../../src/wire/item-messages.ts";
import { SCOPES } from "../../src/wire/protocol.ts";
import { runs } from "../property-seed.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { rawRequest } from "./raw-requests.ts";

const SECRET = "zebra";
/** The names of the victims begin like the attacker's, and stand before and behind it. */
const VICTIMS = ["mallor", "mallory2", "z"];
const ATTACKER = "mallory";

const valid = fc.constantFrom(...VICTIMS, ATTACKER, "docs", "..", "%", "*", "🦓");
const invalid = fc.constantFrom("\u001f", "\u0001", "", "docs\u001fk");
const segment = fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: invalid });
const namespace = fc.oneof(
  { weight: 5, arbitrary: fc.array(segment, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant([]) },
);
const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom("k", "new", "%") }, { weight: 1, arbitrary: invalid });
const id = fc.record({ namespace, key });
const scope = { namespace, recursive: fc.boolean(), limit: fc.constantFrom(0, 1, 50) };
const writeKey = fc.constantFrom("w1", "w2", "w3");
const [digest, version] = [fc.constantFrom("d1", "d2"), fc.constantFrom("v1", "v2")];

/** Mostly what a service takes, with names that try to reach another tenant's items. */
const attack: fc.Arbitrary<readonly [path: string, body: object]> = fc.oneof(
  fc.tuple(
    fc.constant("write"),
    fc.record({
      changes: fc.tuple(
        fc.record({ kind: fc.constant("put"), namespace, key, writeKey, digest, version, value: fc.constant("1") }),
      ),
    }),
  ),
  fc.tuple(
    fc.constant("remove"),
    fc.record({ changes: fc.tuple(fc.record({ kind: fc.constant("remove"), namespace, key, writeKey, digest })) }),
  ),
  fc.tuple(fc.constant("clear"), fc.record({ ...scope, before: fc.constantFrom(0, 1e15) })),
  fc.tuple(fc.constant("read"), fc.record({ ids: fc.array(id, { maxLength: 3 }) })),
  fc.tuple(fc.constant("scan"), fc.record({ ...scope, after: id })),
  fc.tuple(fc.constant("scan"), fc.record({ ...scope, filter: fc.constantFrom({}, { text: { $exists: true } }) })),
  fc.tuple(fc.constant("namespaces"), fc.record({ prefix: namespace, after: namespace, limit: fc.constant(50) })),
  fc.tuple(fc.constant("search"), fc.record({ ...scope, words: fc.constant([SECRET]) })),
  fc.tuple(fc.constant("nearest"), fc.record({ ...scope, vector: fc.constant(vectorText(Float32Array.of(1, 2, 3))) })),
  fc.tuple(fc.constant("vector"), id),
  fc.tuple(fc.constant("dimension"), fc.record({ namespace })),
);

function testTenantsApart(open: () => Promise<Store>, many: number): void {
  test("no request of a tenant reads or changes anything of another tenant's, whatever names it holds", async () => {
    const behind = await open();
    const tokens = [...VICTIMS, ATTACKER].map((tenant) => ({ tenant, ...createToken() }));
    const auth = { tokens: tokens.map(({ tenant, sha256 }) => ({ tenant, sha256, scopes: SCOPES })) };
    const service = await serve({ store: behind, auth, port: 0, rateLimit: false });
    const tokenOf = (tenant: string): string => tokens.find((each) => each.tenant === tenant)?.token ?? "";
    for (const tenant of VICTIMS) {
      const own = new HTTPStore({ baseUrl: service.url, token: tokenOf(tenant) });
      await own.putWithEmbedding(["docs"], "k", { text: SECRET }, { embedding: [1, 2, 3] });
      await own.put(["docs", ATTACKER], "k", { text: SECRET });
      await own.close();
    }
    // Vectors of another length: theirs do not decide about the attacker's.
    const mallory = new HTTPStore({ baseUrl: service.url, token: tokenOf(ATTACKER) });
    await mallory.putWithEmbedding(["own"], "k", 1, [1, 2]);
    expect(await mallory.getEmbedding(["own"], "k")).toEqual([1, 2]);
    await mallory.close();
    const theirs = async (): Promise<string> => {
      const lists = await Promise.all(VICTIMS.map((tenant) => behind.list([tenant], { recursive: true })));
      return JSON.stringify(lists);
    };
    const before = await theirs();
    expect(before.split(SECRET)).toHaveLength(VICTIMS.length * 2 + 1);
    const headers = {
      host: "localhost",
      authorization: `Bearer ${tokenOf(ATTACKER)}`,
      "content-type": "application/json",
    };
    let taken = 0;
    const property = fc.asyncProperty(fc.array(attack, { minLength: 1, maxLength: 10 }), async (attacks) => {
      for (const [path, body] of attacks) {
        const asked = { method: "POST", path: `/v1/items/${path}`, headers, body: JSON.stringify(body) };
        const answer = await rawRequest(service.port, asked);
        expect(answer.status, answer.body).toBeLessThan(500);
        expect(answer.body).not.toContain(SECRET);
        expect(path === "dimension" && answer.body.includes(":3")).toBe(false);
        if (answer.status === 200) taken++;
      }
      expect(await theirs()).toBe(before);
    });
    await fc.assert(property, runs(many));
    expect(taken, "most of them are requests that are taken").toBeGreaterThan(many);
    await service.close();
    await behind.clearNamespace([], { recursive: true });
    await behind.close();
  });
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-item-tenants-"));
afterAll(() => rm(folder, { recursive: true }));

describe("memory", () => testTenantsApart(async () => new InMemoryStore(), 40));
describe("sqlite", () => testTenantsApart(async () => sqliteStore({ path: join(folder, "items.db") }), 20));

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);
  testTenantsApart(async () => postgresqlStore({ dsn: url, schema, tablePrefix: prefix() }), 8);
});

await describeWithService("redis", (url) => {
  const prefix = freshPrefix();
  afterAll(async () => {
    const admin = new Redis(url);
    await clearPrefix(admin, prefix);
    admin.disconnect();
  });
  testTenantsApart(async () => redisStore({ url, prefix }), 8);
});
