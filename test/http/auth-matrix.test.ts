import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import { withChecksum } from "../../src/checkpoint/record/record.ts";
import { createToken, type RunningService, serve } from "../../src/entry/server.ts";
import { AgentState, userMessage } from "../../src/index.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { OPERATIONS, ROUTES } from "../../src/wire/routes.ts";
import { type RawAnswer, rawRequest } from "./raw-requests.ts";
import { sampleRequest } from "./sample-requests.ts";
import { served, sqliteFolder } from "./served.ts";

/** Who asks, and with what beside the token. */
interface Asker {
  readonly name: string;
  readonly headers: () => Readonly<Record<string, string>>;
  readonly scopes: readonly Scope[];
  /** Strangers get nowhere but to what is public; unwelcome requests not even there. */
  readonly kind: "welcome" | "stranger" | "unwelcome";
}

const full = createToken();
const other = createToken();
const single = Object.fromEntries(SCOPES.map((scope) => [scope, createToken()])) as Record<
  Scope,
  ReturnType<typeof createToken>
>;

let service: RunningService;
let folder: Awaited<ReturnType<typeof sqliteFolder>>;
let behind: Checkpointer;
let log: SqliteLog;
const store = new InMemoryStore();
const KEPT = "acme/docs/kept";

/** Every item of every tenant, by its name. */
const itemsThere = async (): Promise<readonly string[]> =>
  (await store.list([], { recursive: true })).map(({ namespace, key }) => [...namespace, key].join("/"));

beforeAll(async () => {
  folder = await sqliteFolder();
  log = folder.open();
  behind = new Checkpointer(log);
  const tokens = [
    { sha256: full.sha256, scopes: SCOPES, tenant: "acme" },
    { sha256: other.sha256, scopes: SCOPES, tenant: "other" },
    ...SCOPES.map((scope) => ({ sha256: single[scope].sha256, scopes: [scope], tenant: "acme" })),
  ];
  service = await serve({ checkpointer: behind, store, auth: { tokens }, port: 0, rateLimit: false });
});
afterAll(async () => {
  await service.close();
  await behind.close();
  await folder.remove();
});

const host = (): string => `127.0.0.1:${service.port}`;
const bearer = (token: string) => () => ({ host: host(), authorization: `Bearer ${token}` });

const ASKERS: readonly Asker[] = [
  { name: "no token", headers: () => ({ host: host() }), scopes: [], kind: "stranger" },
  { name: "an unknown token", headers: bearer(createToken().token), scopes: [], kind: "stranger" },
  { name: "an empty token", headers: () => ({ host: host(), authorization: "Bearer " }), scopes: [], kind: "stranger" },
  { name: "the hash of a token", headers: bearer(full.sha256), scopes: [], kind: "stranger" },
  { name: "half a token", headers: bearer(full.token.slice(0, 23)), scopes: [], kind: "stranger" },
  ...["bearer", "BEARER", "Bearer "].map(
    (scheme): Asker => ({
      name: `the scheme written ${scheme}`,
      headers: () => ({ host: host(), authorization: `${scheme} ${full.token}` }),
      scopes: SCOPES,
      kind: "welcome",
    }),
  ),
  {
    name: "another scheme",
    headers: () => ({ host: host(), authorization: `Bearers ${full.token}` }),
    scopes: [],
    kind: "stranger",
  },
  {
    name: "Basic",
    headers: () => ({ host: host(), authorization: `Basic ${full.token}` }),
    scopes: [],
    kind: "stranger",
  },
  {
    name: "two tokens in one header",
    headers: bearer(`${full.token}, Bearer ${full.token}`),
    scopes: [],
    kind: "stranger",
  },
  {
    name: "the token as a cookie",
    headers: () => ({ host: host(), cookie: `token=${full.token}` }),
    scopes: [],
    kind: "stranger",
  },
  ...SCOPES.map(
    (scope): Asker => ({ name: scope, headers: bearer(single[scope].token), scopes: [scope], kind: "welcome" }),
  ),
  { name: "every scope", headers: bearer(full.token), scopes: SCOPES, kind: "welcome" },
  ...["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil.example"].map(
    (name): Asker => ({
      name: `Host ${name}`,
      headers: () => ({ host: name, authorization: `Bearer ${full.token}` }),
      scopes: SCOPES,
      kind: "unwelcome",
    }),
  ),
  ...["https://evil.example", "null", "http://localhost"].map(
    (origin): Asker => ({
      name: `Origin ${origin}`,
      headers: () => ({ ...bearer(full.token)(), origin }),
      scopes: SCOPES,
      kind: "unwelcome",
    }),
  ),
  ...["cross-site", "same-site"].map(
    (site): Asker => ({
      name: `Sec-Fetch-Site ${site}`,
      headers: () => ({ ...bearer(full.token)(), "sec-fetch-site": site }),
      scopes: SCOPES,
      kind: "unwelcome",
    }),
  ),
];

/** What is sent to a thread is appended behind its newest record, whose header is read for that. */
function checkpoint(): LogRecord {
  const chain = { records: 1, bytes: 0, liveBytes: 0, baseBytes: 0 };
  const fields = { kind: "base", createdAt: 0, buildsOn: 0, schema: 0, messageCount: 0, chain } as const;
  return withChecksum({ ...recordAt(1), fields });
}

/** Put back before every request, so that each meets the same. */
async function refill(): Promise<void> {
  await store.clearNamespace([], { recursive: true });
  await store.putWithEmbedding(["acme", "docs"], "kept", { text: "zebra" }, [1, 2]);
  await log.remove("acme/t");
  await log.remove("acme/copy");
  await log.append("acme/t", requestFor(checkpoint()));
}

const isDenied = ({ status, body }: RawAnswer): boolean =>
  (status === 401 || status === 403) && (JSON.parse(body) as { code: string }).code === "PERMISSION_DENIED";

describe.each(OPERATIONS)("%s", (operation) => {
  const { access } = ROUTES[operation];

  test.each(ASKERS)("asked with $name is answered only if the table opens it", async ({ headers, scopes, kind }) => {
    await refill();
    const request = sampleRequest(operation);
    const answer = await rawRequest(service.port, { ...request, headers: { ...request.headers, ...headers() } });
    const mayScope = access === "any token" || scopes.some((scope) => scope === access);
    const isOpen = access === "public" ? kind !== "unwelcome" : kind === "welcome" && mayScope;
    if (isOpen) {
      const statuses = ROUTES[operation].answers.map(({ status }) => status);
      expect(statuses, answer.body).toContain(answer.status);
      expect(answer.status, answer.body).toBeLessThan(300);
    } else {
      expect(isDenied(answer), `${answer.status} ${answer.body}`).toBe(true);
      expect(await log.tail("acme/t"), "nothing happened").toMatchObject({ entry: { seq: 1 } });
      expect(await log.tail("acme/copy"), "nothing happened").toBeUndefined();
      expect(await itemsThere(), "nothing happened").toEqual([KEPT]);
    }
    expect(answer.body).not.toContain(full.token);
  });

  test("asked by another tenant tells nothing of this one's threads, and does nothing to them", async () => {
    await refill();
    const request = sampleRequest(operation);
    const answer = await rawRequest(service.port, {
      ...request,
      headers: { ...request.headers, ...bearer(other.token)() },
    });
    expect(answer.body).not.toMatch(/write-1|acme|zebra/);
    expect(await log.tail("acme/t")).toMatchObject({ entry: { seq: 1 } });
    expect(await itemsThere()).toContain(KEPT);
    if (ROUTES[operation].facet === "items" && ROUTES[operation].access === "items:read") {
      expect(answer.body).toMatch(/"found":false|"items":\[\]|"hits":\[\]|"namespaces":\[\]/);
    }
    if (ROUTES[operation].path.includes("{thread}") && answer.status === 200 && operation !== "subscribe") {
      expect(answer.body).toMatch(/"found":false|"entries":\[\]|"outcome":"(?:absent|no source)"/);
    }
    await log.remove("other/t");
  });
});

test.each(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])(
  "%s on a route that does not exist is refused, and a caller without a token does not learn that it does not exist",
  async (method) => {
    for (const path of ["/", "/v1", "/v1/threads/dA/unknown", "/admin", "/v2/threads"]) {
      const known = await rawRequest(service.port, { method, path, headers: bearer(full.token)() });
      expect(known.status, path).toBe(404);
      const stranger = await rawRequest(service.port, { method, path, headers: { host: host() } });
      expect(stranger.status, path).toBe(401);
    }
  },
);

test("a method that a route does not have is no way in, whatever header asks for another", async () => {
  const headers = {
    ...bearer(single["threads:read"].token)(),
    "x-http-method-override": "DELETE",
    "x-method-override": "DELETE",
  };
  await refill();
  for (const method of ["GET", "POST", "PUT", "PATCH"]) {
    await rawRequest(service.port, { method, path: "/v1/threads/dA", headers });
  }
  expect(await log.tail("acme/t")).toMatchObject({ entry: { seq: 1 } });
});

test("a token that may only write removes no checkpoint, but works under a lease", async () => {
  await refill();
  const readWrite = createToken();
  const tokens = [{ sha256: readWrite.sha256, scopes: ["threads:read", "threads:write"] as const }];
  const writing = await serve({ checkpointer: behind, auth: { tokens }, port: 0 });
  await using checkpointer = new HTTPCheckpointer({ baseUrl: writing.url, token: readWrite.token });
  let state = AgentState.create().withMessage(userMessage("one"));
  const first = await checkpointer.save(state, "kept");
  await checkpointer.withLease("kept", async (lease) => {
    state = state.withMessage(userMessage("two"));
    await checkpointer.save(state, "kept", { lease });
  });
  await checkpointer.withLease("kept", async () => undefined);
  for (const work of [
    () => checkpointer.delete("kept", { checkpointId: first }),
    () => checkpointer.vacuum({ keepLast: 1 }),
    () => checkpointer.delete("kept"),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  }
  expect(await checkpointer.listCheckpoints("kept")).toHaveLength(2);
  await using memory = await served(new MemoryLog(), { auth: { tokens } });
  await using passing = new HTTPCheckpointer({ baseUrl: memory.service.url, token: readWrite.token });
  const expiring = passing.save(state, "passing", { ttlSeconds: 60 });
  await expect(expiring).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  expect(await passing.exists("passing")).toBe(false);
  await writing.close();
});
