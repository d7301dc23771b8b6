import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { createApp, createToken, serve } from "../../src/entry/server.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { OPERATIONS, pathOf, ROUTES, routesAt } from "../../src/wire/routes.ts";
import { type RawAnswer, rawRequest } from "./raw-requests.ts";
import { sampleRequest } from "./sample-requests.ts";
import { type Served, served } from "./served.ts";

const ORIGIN = "https://studio.example.com";
const log = new MemoryLog();
let there: Served;

beforeAll(async () => {
  there = await served(log, { allowedOrigins: [ORIGIN] });
});
afterAll(() => there[Symbol.asyncDispose]());
beforeEach(async () => {
  await log.remove("t");
  await log.append("t", requestFor(recordAt(1)));
  await log.append("t", requestFor(recordAt(2)));
});

const ask = (method: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> =>
  rawRequest(there.service.port, {
    method,
    path,
    headers: { host: "localhost", authorization: `Bearer ${there.token}`, ...headers },
  });

const TAG = '"first:2:write-2"';

describe("a read with preconditions, as RFC 9110 says", () => {
  const paths = [
    pathOf("tail", { thread: "t" }),
    pathOf("readTail", { thread: "t" }),
    pathOf("readCheckpoint", { thread: "t", checkpoint: "checkpoint-1" }),
  ];
  const cases: readonly [headers: Readonly<Record<string, string>>, status: number][] = [
    [{}, 200],
    [{ "if-none-match": TAG }, 304],
    [{ "if-none-match": `W/${TAG}` }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": `"other", ${TAG}` }, 304],
    [{ "if-none-match": `"a,b" ,W/"c",, ${TAG}` }, 304],
    [{ "if-none-match": '"first:1:write-1"' }, 200],
    [{ "if-none-match": '"first:1:write-1", W/"second:2:write-2"' }, 200],
    [{ "if-match": TAG }, 200],
    [{ "if-match": "*" }, 200],
    [{ "if-match": `"first:1:write-1", ${TAG}` }, 200],
    [{ "if-match": '"f%69rst:2:write-2"' }, 200],
    [{ "if-match": `W/${TAG}` }, 412],
    [{ "if-match": '"first:1:write-1"' }, 412],
    [{ "if-match": TAG, "if-none-match": TAG }, 304],
    [{ "if-match": '"first:1:write-1"', "if-none-match": TAG }, 412],
    [{ "if-none-match": "first:2:write-2" }, 400],
    [{ "if-match": '"first:2' }, 400],
    [{ "if-match": "," }, 400],
  ];
  test.each(cases)("%j is %i", async (headers, status) => {
    for (const path of paths) {
      for (const method of ["GET", "HEAD"]) {
        const answer = await ask(method, path, headers);
        expect(answer.status, `${method} ${path} ${answer.body}`).toBe(status);
        if (status === 200 || status === 304) expect(answer.headers["etag"]).toBe(TAG);
        if (status === 304) expect([answer.body, answer.headers["content-type"]]).toEqual(["", undefined]);
      }
    }
  });

  test("a thread that is not there matches nothing", async () => {
    const path = pathOf("tail", { thread: "absent" });
    expect((await ask("GET", path, { "if-none-match": "*" })).body).toBe('{"found":false}');
    expect((await ask("GET", path, { "if-match": "*" })).status).toBe(412);
  });
});

describe("a deletion with preconditions", () => {
  const path = pathOf("remove", { thread: "t" });
  const cases: readonly [headers: Readonly<Record<string, string>>, outcome: "removed" | "moved" | undefined][] = [
    [{ "if-match": TAG }, "removed"],
    [{ "if-match": "*" }, "removed"],
    [{ "if-match": `"x", ${TAG}` }, "removed"],
    [{ "if-none-match": '"first:1:write-1"' }, "removed"],
    [{ "if-match": '"first:1:write-1"' }, "moved"],
    [{ "if-match": '"nothing-of-ours"' }, "moved"],
    [{ "if-match": `W/${TAG}` }, "moved"],
    [{ "if-match": '"first:1:write-1", "first:3"' }, "moved"],
    [{ "if-none-match": "*" }, "moved"],
    [{ "if-none-match": `W/${TAG}` }, "moved"],
    [{ "if-match": TAG, "if-none-match": TAG }, "moved"],
    [{ "if-match": "first:2:write-2" }, undefined],
  ];
  test.each(cases)("%j comes to %s", async (headers, outcome) => {
    const answer = await ask("DELETE", path, headers);
    expect(answer.status).toBe(outcome === "removed" ? 200 : outcome === "moved" ? 412 : 400);
    if (outcome !== undefined) expect(answer.body).toBe(JSON.stringify({ outcome }));
    expect((await log.tail("t")) === undefined).toBe(outcome === "removed");
  });
});

test("an append may name its place among several, or any", async () => {
  const send = async (condition: Readonly<Record<string, string>>): Promise<number> => {
    const { method = "POST", path, headers, body } = sampleRequest("append");
    const { "if-match": _, ...others } = headers;
    const own = { host: "localhost", authorization: `Bearer ${there.token}`, ...others, ...condition };
    return (await rawRequest(there.service.port, { method, path, headers: own, ...(body && { body }) })).status;
  };
  await log.remove("t");
  await log.append("t", requestFor(recordAt(1)));
  expect(await send({ "if-match": '"first:7", "second:1"' })).toBe(400);
  expect(await send({ "if-match": 'W/"first:1:write-1"' })).toBe(400);
  expect(await send({ "if-none-match": "*" })).toBe(400);
  expect(await send({ "if-none-match": '"first:9"' })).toBe(428);
  expect(await send({ "if-match": "*", "if-none-match": '"first:1:write-1"' })).toBe(400);
  expect(await send({})).toBe(428);
  expect(await log.tail("t")).toMatchObject({ entry: { seq: 1 } });
  expect(await send({ "if-match": '"first:7", "first:1:write-1"' })).toBe(201);
  expect(await send({ "if-match": "*" }), "the place itself is in the body").toBe(412);
});

describe.each(OPERATIONS)("%s", (operation) => {
  const path = pathOf(operation, { thread: "t", checkpoint: "checkpoint-1" });
  const methods = routesAt(path).flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));

  test("any other method is 405 and says which there are, and is refused to a stranger", async () => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      if (methods.includes(method)) continue;
      const answer = await ask(method, path);
      expect([answer.status, answer.headers["allow"]], method).toEqual([405, methods.join(", ")]);
      const stranger = await rawRequest(there.service.port, { method, path, headers: { host: "localhost" } });
      expect(stranger.status).toBe(ROUTES[operation].access === "public" ? 405 : 401);
    }
    expect(await log.tail("t")).toMatchObject({ entry: { seq: 2 } });
  });

  test("a page of an allowed origin may call it and read the answer, and no other page", async () => {
    const { method = "GET", path: target, headers, body } = sampleRequest(operation);
    const preflight = {
      host: "localhost",
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type,if-match,idempotency-key",
      "sec-fetch-site": "cross-site",
    };
    const allowed = await rawRequest(there.service.port, {
      method: "OPTIONS",
      path,
      headers: { ...preflight, origin: ORIGIN },
    });
    expect(allowed.status, "a browser asks without the token").toBe(204);
    expect(allowed.headers).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      vary: expect.stringMatching(/origin/),
    });
    expect(allowed.headers["access-control-allow-methods"]).toContain(method);
    expect(allowed.headers["access-control-allow-headers"]).toMatch(
      /Authorization.*Content-Type.*If-Match.*Idempotency-Key/,
    );
    expect(allowed.headers["access-control-allow-credentials"]).toBeUndefined();
    const request = { ...headers, host: "localhost", authorization: `Bearer ${there.token}`, origin: ORIGIN };
    const own = { method, path: target, headers: request, ...(body !== undefined && { body }) };
    const answer = await rawRequest(there.service.port, own);
    expect(answer.headers["access-control-allow-origin"]).toBe(ORIGIN);
    expect(answer.headers["access-control-expose-headers"]).toMatch(/ETag/);
    const evil = "https://evil.example";
    for (const from of [
      { method: "OPTIONS", path, headers: { ...preflight, origin: evil } },
      { ...own, headers: { ...request, origin: evil } },
    ]) {
      const refused = await rawRequest(there.service.port, from);
      expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    }
  });
});

test("a page of an allowed origin reads refusals too", async () => {
  const answer = await rawRequest(there.service.port, {
    path: "/v1/clock",
    headers: { host: "localhost", origin: ORIGIN },
  });
  expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([401, ORIGIN]);
  const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, "y"]));
  const refused = await ask("GET", "/v1/clock", { ...many, origin: ORIGIN });
  expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([431, ORIGIN]);
});

test("without allowed origins no preflight is answered", async () => {
  await using closed = await served();
  const headers = { host: "localhost", origin: ORIGIN, "access-control-request-method": "GET" };
  const answer = await rawRequest(closed.service.port, { method: "OPTIONS", path: "/v1/clock", headers });
  expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
});

test.each(["https://studio.example.com/", "https://studio.example.com/app", "*", "null", "studio.example.com", 7])(
  "the allowed origin %j, which no browser would send, is refused",
  async (origin) => {
    const options = { checkpointer: new MemoryCheckpointer(), port: 0, allowedOrigins: [origin as string] };
    await expect(serve(options)).rejects.toThrow(/as browsers send them/);
  },
);

test("a parameter that no route knows, or that stands twice, is refused and not repeated", async () => {
  for (const query of ["?t=zebra", "?limit=5&zebra=1", "?limit=5&limit=6"]) {
    const answer = await ask("GET", `/v1/threads${query}`);
    expect([answer.status, answer.body]).toEqual([400, expect.not.stringContaining("zebra")]);
  }
});

describe("what people meet first", () => {
  test("a client without its token is told how to send one", async () => {
    await using client = there.client({ token: undefined as never, retry: { attempts: 1 } });
    const error = await client.load("t").catch(String);
    expect(error).toContain("no token came with the request; this service wants Authorization: Bearer <token>");
    expect(error).not.toContain("***");
  });

  test("a port that is taken is named, with what to do", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const starting = serve({ checkpointer: new MemoryCheckpointer(), port });
    await expect(starting).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `serve(): another program listens on port ${port} of 127.0.0.1; end that program, or give another port (0 takes any that is free)`,
    });
    other.close();
  });

  test("an address that this machine does not have is named", async () => {
    const { sha256 } = createToken();
    const auth = { tokens: [{ sha256, scopes: ["threads:read"] as const }] };
    const starting = serve({ checkpointer: new MemoryCheckpointer(), host: "192.0.2.1", port: 0, auth });
    await expect(starting).rejects.toThrow(/cannot listen on port 0 of 192\.0\.2\.1.*address of this machine/);
  });

  const checkpointer = new MemoryCheckpointer();
  const { sha256 } = createToken();
  const tokens = [{ sha256, scopes: ["threads:read"] }];
  const wrong: readonly [options: object | undefined, says: RegExp][] = [
    [undefined, /takes an options object/],
    [{ checkpointer, prot: 1 }, /no option "prot"; there are .*port/],
    [{ checkpointer, timeouts: { headerMs: 1 } }, /no option "timeouts.headerMs"; there are headersMs/],
    [{ checkpointer, auth: { token: "x" } }, /no option "auth.token"/],
    [{ checkpointer, auth: {} }, /auth.tokens must list/],
    [{ checkpointer, auth: { tokens: undefined } }, /auth.tokens must list/],
    [{ checkpointer, auth: { tokens: [{ ...tokens[0], tenat: "a" }] } }, /no option "auth.tokens\[\].tenat"/],
    [{ checkpointer, rateLimit: { perSec: 1 } }, /no option "rateLimit.perSec"/],
    [{ checkpointer, rateLimit: null }, /rateLimit must be an object, not null/],
    [{ checkpointer, maxWatches: Number.NaN }, /maxWatches must be a number greater than 0/],
    [{ checkpointer, maxBodyBytes: -1 }, /maxBodyBytes must be/],
    [{ checkpointer, answerTimeoutMs: 2 ** 31 }, /answerTimeoutMs must be .* at most 2147483647/],
    [{ checkpointer, port: "8080" }, /port must be a number/],
    ...[-1, 65_536, 1.5, Number.NaN].map((port): [object, RegExp] => [
      { checkpointer, port },
      /port must be a whole number from 0 .* to 65535/,
    ]),
  ];
  test.each(wrong)("serve(%j) is refused", async (options, says) => {
    await expect(serve(options as never)).rejects.toThrow(says);
  });

  test("createApp refuses an option that it does not have, a port among them", async () => {
    await expect(createApp({ checkpointer, port: 1 } as never)).rejects.toThrow(/no option "port"/);
    await expect(createApp(undefined as never)).rejects.toThrow(/takes an options object/);
  });
});
