import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { createApp, createToken, type ServeOptions, serve, type TokenEntry } from "../../src/entry/server.ts";
import { AgentState, BaseCheckpointer, userMessage } from "../../src/index.ts";
import { RateLimiter } from "../../src/server/request/rate-limiter.ts";
import { atCall, FaultyLog } from "../../src/testing/faulty-log.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import { rawRequest } from "./raw-requests.ts";
import { served, sqliteFolder } from "./served.ts";

const checkpointer = new MemoryCheckpointer();
const all = ["threads:read", "threads:write", "threads:delete"] as const;
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

describe("what serve() refuses to start with", () => {
  const { sha256 } = createToken();
  const auth = { tokens: [{ sha256, scopes: all }] };
  const refused: readonly [what: string, options: Partial<ServeOptions> & Record<string, unknown>, says: RegExp][] = [
    ["a public address without auth", { host: "0.0.0.0" }, /no auth/],
    ["another public address without auth", { host: "10.1.2.3" }, /no auth/],
    ["an IPv6 address without auth", { host: "::" }, /no auth/],
    ["a name without auth", { host: "state.example.com" }, /no auth/],
    ["every address without the names clients use", { host: "0.0.0.0", auth }, /allowedHosts/],
    ["an empty list of tokens", { auth: { tokens: [] } }, /at least one/],
    [
      "a token in place of its hash",
      { auth: { tokens: [{ sha256: createToken().token, scopes: all }] } },
      /64 hexadecimal/,
    ],
    ["a scope that does not exist", { auth: { tokens: [{ sha256, scopes: ["admin" as never] }] } }, /scopes/],
    ["a token without scopes", { auth: { tokens: [{ sha256, scopes: [] }] } }, /scopes/],
    ["a tenant with a slash", { auth: { tokens: [{ sha256, scopes: all, tenant: "a/b" }] } }, /tenant/],
    ["an empty tenant", { auth: { tokens: [{ sha256, scopes: all, tenant: "" }] } }, /tenant/],
    [
      "one token with a tenant and one without",
      {
        auth: {
          tokens: [
            { sha256, scopes: all, tenant: "a" },
            { sha256: createToken().sha256, scopes: all },
          ],
        },
      },
      /every token names a tenant or none/,
    ],
    ["the same token twice", { auth: { tokens: [...auth.tokens, ...auth.tokens] } }, /twice/],
    ["an option that does not exist", { allowedHost: ["a"] }, /no option "allowedHost"/],
    ["an option of another type", { maxBodyBytes: "1" as never }, /must be a number/],
  ];

  test.each(refused)("%s", async (_, options, says) => {
    await expect(serve({ checkpointer, port: 0, ...options })).rejects.toThrow(says);
  });

  test("a checkpointer that stands on no log", async () => {
    class Easy extends BaseCheckpointer {
      readonly capabilities = checkpointer.capabilities;
      save = async (): Promise<string> => "";
      load = async (): Promise<undefined> => undefined;
      listCheckpoints = async (): Promise<never> => [] as never;
      delete = async (): Promise<boolean> => false;
    }
    await expect(serve({ checkpointer: new Easy(), port: 0 })).rejects.toThrow(TypeError);
  });

  test("no error of it shows a token", async () => {
    const { token } = createToken();
    const error = await serve({ checkpointer, auth: { tokens: [{ sha256: token, scopes: all }] } }).catch(String);
    expect(error).not.toContain(token);
  });
});

test("without auth, loopback is served, and only loopback names", async () => {
  await using service = await serve({ checkpointer: new MemoryCheckpointer(), port: 0 });
  expect(service.url).toBe(`http://127.0.0.1:${service.port}`);
  await using client = new HTTPCheckpointer({ baseUrl: service.url });
  await client.save(said("hello"), "t");
  expect(await client.exists("t")).toBe(true);
  const evil = await rawRequest(service.port, { path: "/v1/clock", headers: { host: `evil.example:${service.port}` } });
  expect(evil.status).toBe(403);
});

test("an Origin that is allowed may call", async () => {
  await using there = await served(new MemoryLog(), { allowedOrigins: ["https://studio.example.com"] });
  const ask = (origin: string) =>
    rawRequest(there.service.port, {
      path: "/v1/clock",
      headers: { authorization: `Bearer ${there.token}`, host: "localhost", origin, "sec-fetch-site": "cross-site" },
    });
  expect((await ask("https://studio.example.com")).status).toBe(200);
  expect((await ask("https://studio.example.com.evil.example")).status).toBe(403);
});

test("tokens have 256 random bits, and the service keeps their hash alone", () => {
  const tokens = Array.from({ length: 50 }, createToken);
  expect(new Set(tokens.map(({ token }) => token)).size).toBe(50);
  for (const { token, sha256 } of tokens) {
    expect(Buffer.from(token.slice(3), "base64url")).toHaveLength(32);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  }
});

test("health says that the process runs, readiness that the storage answers", async () => {
  let isDown = false;
  const log = new FaultyLog(new MemoryLog(), {
    faultAt: () => (isDown ? { when: "before", code: "PERMISSION_DENIED" } : undefined),
  });
  await using there = await served(log);
  const ask = (path: string) => rawRequest(there.service.port, { path, headers: { host: "localhost" } });
  expect([(await ask("/healthz")).status, (await ask("/readyz")).status]).toEqual([200, 200]);
  isDown = true;
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect([(await ask("/healthz")).status, (await ask("/readyz")).status]).toEqual([200, 503]);
});

test("a URL opens a service with its token, below a path too", async () => {
  await using there = await served();
  const url = there.service.url.replace("http://", `http://:${there.token}@`);
  await using client = await openCheckpointer(url);
  await client.save(said("hello"), "t");
  expect(await there.behind.exists("t")).toBe(true);
  await using below = new HTTPCheckpointer({
    baseUrl: "http://127.0.0.1:1/state/",
    fetch: async (url) => {
      expect(String(url)).toBe("http://127.0.0.1:1/state/v1/capabilities");
      throw new TypeError("asked");
    },
    retry: { attempts: 1 },
  });
  await expect(below.connect()).rejects.toThrow(/asked/);
});

test("the app answers without a socket, through the same door", async () => {
  const { token, sha256 } = createToken();
  const behind = new Checkpointer(new MemoryLog());
  const app = await createApp({ checkpointer: behind, auth: { tokens: [{ sha256, scopes: all }] } });
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    request.headers.set("host", new URL(request.url).host);
    return app.fetch(request);
  };
  await using client = new HTTPCheckpointer({ baseUrl: "http://localhost", token, fetch });
  await client.save(said("hello"), "t");
  expect((await client.load("t"))?.messages).toHaveLength(1);
  await using stranger = new HTTPCheckpointer({ baseUrl: "http://localhost", fetch, retry: { attempts: 1 } });
  await expect(stranger.load("t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});

test("capabilities are the remote's, and the record limit is what a request can carry", async () => {
  await using there = await served(new MemoryLog(), { maxBodyBytes: 1024 * 1024 });
  await using client = there.client();
  expect(client.capabilities).toMatchObject({ listThreads: false, conditionalSave: false });
  expect(await client.connect()).toMatchObject({
    durability: "memory",
    listThreads: true,
    conditionalSave: true,
    ttl: true,
    searchMethod: "scan",
    limits: { maxRecordBytes: 512 * 1024 },
  });
  await expect(client.save(said("x".repeat(600 * 1024)), "t")).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(await client.exists("t")).toBe(false);
});

test("one connection carries many requests", async () => {
  await using there = await served();
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  await using client = there.client({ baseUrl: `http://127.0.0.1:${proxy.port}` });
  let state = said("first");
  for (let index = 0; index < 30; index++) {
    await client.save(state, "t");
    state = state.withMessage(userMessage(`message ${index}`));
  }
  // A second one is opened where an answer is still being tidied up; never one for each request.
  expect(proxy.connections).toBeLessThan(4);
  await proxy.close();
});

test("any number of requests may be under way at once, and nothing warns", async () => {
  await using there = await served();
  await using client = there.client();
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  process.on("warning", onWarning);
  await Promise.all(Array.from({ length: 60 }, (_, index) => client.save(said("hello"), `thread ${index}`)));
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
  expect([...(await client.listThreads())]).toHaveLength(60);
});

test("a large answer is compressed where the client accepts it, and a small one is not", async () => {
  await using there = await served();
  await there.behind.save(said("word ".repeat(10_000)), "large");
  await there.behind.save(said("word"), "small");
  const ask = (thread: string, accept: string) =>
    rawRequest(there.service.port, {
      path: pathOf("readTail", { thread }),
      headers: { host: "localhost", authorization: `Bearer ${there.token}`, "accept-encoding": accept },
    });
  const [packed, plain] = [await ask("large", "br, gzip"), await ask("large", "identity")];
  expect([packed.headers["content-encoding"], plain.headers["content-encoding"]]).toEqual(["gzip", undefined]);
  expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 10);
  expect(gunzipSync(packed.bytes)).toEqual(plain.bytes);
  expect((await ask("large", "gzip;q=0, identity")).headers["content-encoding"]).toBeUndefined();
  expect((await ask("small", "gzip")).headers["content-encoding"]).toBeUndefined();
  await using client = there.client({ headers: { "accept-encoding": "gzip" } });
  expect((await client.load("large"))?.messages).toHaveLength(1);
});

test("a token that asks too often is told to wait, and others are not", async () => {
  const [busy, calm] = [createToken(), createToken()];
  const tokens: readonly TokenEntry[] = [busy, calm].map(({ sha256 }) => ({ sha256, scopes: all }));
  const options = {
    checkpointer: new MemoryCheckpointer(),
    auth: { tokens },
    port: 0,
    rateLimit: { perSecond: 0.001, burst: 5 },
  };
  await using service = await serve(options);
  const ask = (token: string) =>
    rawRequest(service.port, { path: "/v1/clock", headers: { host: "localhost", authorization: `Bearer ${token}` } });
  const answers = [];
  for (let index = 0; index < 7; index++) answers.push(await ask(busy.token));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  expect(Number(answers.at(-1)?.headers["retry-after"])).toBeGreaterThan(0);
  expect((await ask(calm.token)).status).toBe(200);
  await using client = new HTTPCheckpointer({ baseUrl: service.url, token: busy.token, retry: { attempts: 1 } });
  await expect(client.load("t")).rejects.toMatchObject({ code: "RATE_LIMITED", retryable: true });
});

test("a bucket fills steadily, up to its size", () => {
  let now = 0;
  const limiter = new RateLimiter({ perSecond: 10, burst: 3 }, () => now);
  const takes = (): number => {
    for (let count = 0; ; count++) {
      try {
        limiter.take("a");
      } catch {
        return count;
      }
    }
  };
  expect(takes()).toBe(3);
  now += 200;
  expect(takes()).toBe(2);
  now += 1e9;
  expect(takes()).toBe(3);
});

test("closing finishes what runs, ends the watches and takes nothing new", async () => {
  const log = new FaultyLog(new MemoryLog(), { latencyMs: 150 });
  const there = await served(log);
  const client = there.client({ retry: { attempts: 1 } });
  await client.connect();
  const stop = new AbortController();
  const watched: unknown[] = [];
  const watching = (async () => {
    for await (const summary of client.watch("t", { signal: stop.signal })) watched.push(summary);
  })().catch(() => undefined);
  const saving = client.save(said("under way"), "t");
  while (!log.calls.includes("append")) await new Promise((resolve) => setTimeout(resolve, 5));
  const closing = there.service.close();
  await saving;
  await closing;
  expect(await there.behind.exists("t")).toBe(true);
  await expect(client.load("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  stop.abort();
  await watching;
  await client.close();
  await there[Symbol.asyncDispose]();
});

test("closing does not wait for ever for a client that does not take its answer", async () => {
  const log = new FaultyLog(new MemoryLog(), { latencyMs: 60_000 });
  const behind = new Checkpointer(log);
  const service = await serve({ checkpointer: behind, port: 0, timeouts: { closeMs: 100 } });
  const request = httpRequest({ port: service.port, host: "127.0.0.1", path: pathOf("tail", { thread: "t" }) });
  request.end();
  const failed = once(request, "error").catch((error: unknown) => [error]);
  while (log.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await service.close();
  expect(await failed).toHaveLength(1);
});

test("a watch goes on after the line was cut, and misses nothing", async () => {
  await using there = await served();
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  await using client = there.client({ baseUrl: `http://127.0.0.1:${proxy.port}` });
  const seen: string[] = [];
  const saved: string[] = [];
  const stop = new AbortController();
  let state = said("0");
  saved.push(await there.behind.save(state, "t"));
  const watching = (async () => {
    for await (const { checkpointId } of client.watch("t", { signal: stop.signal })) seen.push(checkpointId);
  })();
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const saveNext = async (): Promise<void> => {
    state = state.withMessage(userMessage(`${saved.length}`));
    saved.push(await there.behind.save(state, "t"));
  };
  // A watch shows what is saved after it begins, and only the watch itself reveals when
  // that is.
  while (seen.length === 0) {
    await saveNext();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (let round = 0; round < 3; round++) {
    await saveNext();
    await until(() => seen.at(-1) === saved.at(-1));
    proxy.cutAll();
    await saveNext();
    await until(() => seen.at(-1) === saved.at(-1));
  }
  stop.abort();
  await watching;
  expect(seen).toEqual(saved.slice(-seen.length));
  expect(seen.length).toBeGreaterThanOrEqual(6);
  await proxy.close();
});

test("a storage that does not answer in time is TIMEOUT, and says that a write may have happened", async () => {
  const log = new FaultyLog(new MemoryLog(), { latencyMs: 500 });
  await using there = await served(log, { answerTimeoutMs: 50 });
  await using client = there.client({ retry: { attempts: 1 } });
  const error = await client.load("t").catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "TIMEOUT", context: { written: "unknown" } });
});

test("a storage that is busy once is asked again by the service, and the client does not notice", async () => {
  const log = new FaultyLog(new MemoryLog(), { faultAt: atCall(2, { when: "before" }) });
  await using there = await served(log);
  await using client = there.client({ retry: { attempts: 1 } });
  await client.save(said("one"), "t");
  expect(await client.exists("t")).toBe(true);
});

test.for([
  ["no words", []],
  ["a phrase", ["one two"]],
  ["what a query language would take for its own", ["one", '"*', "or("]],
  ["control characters", ["one\u0000", "\u001btwo"]],
  ["an empty word", [""]],
] as const)("a search for %s finds nothing, whatever the storage would make of it", async ([, words]) => {
  const { open, remove } = await sqliteFolder();
  await using there = await served(open());
  await there.behind.save(said("one two"), "t");
  const asked = await fetch(`${there.service.url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${there.token}`, "content-type": "application/json" },
    body: JSON.stringify({ words, limit: 10 }),
  });
  expect([asked.status, await asked.json()]).toEqual([200, { hits: [], order: "best" }]);
  await remove();
});

test("a web-standard request that a program makes goes by the name in its URL, and a Host that is there goes before it", async () => {
  const app = await createApp({ checkpointer: new MemoryCheckpointer() });
  const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
    (await app.fetch(new Request(url, { headers }))).status;
  expect(await statusOf("http://localhost/healthz")).toBe(200);
  expect(await statusOf("http://127.0.0.1:8420/healthz")).toBe(200);
  expect(await statusOf("http://evil.example/healthz")).toBe(403);
  expect(await statusOf("http://localhost/healthz", { host: "evil.example" })).toBe(403);
  await app.close();
});
