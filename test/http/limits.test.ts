import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { createApp, createToken, serve } from "../../src/server/index.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { FRAME_TYPE, SCOPES } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { type RawRequest, rawBytes, rawRequest, statusesIn } from "./raw-requests.ts";
import { served } from "./served.ts";

const events = pathOf("subscribe", { thread: "t" });
const TENANTS = ["greedy", "calm"] as const;

/** A service with two tenants. */
async function twoTenants(options: object, log = new MemoryLog()) {
  const tokens = TENANTS.map((tenant) => ({ tenant, ...createToken() }));
  const known = tokens.map(({ tenant, sha256 }) => ({ tenant, sha256, scopes: SCOPES }));
  const checkpointer = new Checkpointer(log);
  const service = await serve({ checkpointer, auth: { tokens: known }, port: 0, rateLimit: false, ...options });
  const authorization = (tenant: (typeof TENANTS)[number]): string =>
    `Bearer ${tokens.find((token) => token.tenant === tenant)?.token}`;
  const ask = (tenant: (typeof TENANTS)[number], request: RawRequest) =>
    rawRequest(service.port, {
      ...request,
      headers: { host: "localhost", authorization: authorization(tenant), ...request.headers },
    });
  return { service, ask, authorization, port: service.port };
}

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that sends this and stays; what it heard so far. */
async function held(port: number, text: string): Promise<{ readonly heard: () => string; readonly socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  let heard = "";
  socket.on("data", (chunk) => {
    heard += chunk;
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return { heard: () => heard, socket };
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe("watches", () => {
  test("HEAD of the events opens no watch, however often it is asked", async () => {
    await using there = await served(new MemoryLog(), { maxWatches: 3 });
    const headers = { host: "localhost", authorization: `Bearer ${there.token}` };
    for (let index = 0; index < 20; index++) {
      const answer = await rawRequest(there.service.port, { method: "HEAD", path: events, headers });
      expect([answer.status, answer.headers["content-type"], answer.body]).toEqual([200, "text/event-stream", ""]);
    }
    expect((await rawRequest(there.service.port, { path: events, headers })).status).toBe(200);
  });

  test("nor does HEAD through an app without a socket", async () => {
    const app = await createApp({ checkpointer: new Checkpointer(new MemoryLog()), maxWatches: 1 });
    const request = (method: string) =>
      new Request(`http://localhost${events}`, { method, headers: { host: "localhost" } });
    for (let index = 0; index < 3; index++) expect((await app.fetch(request("HEAD"))).status).toBe(200);
    const answer = await app.fetch(request("GET"));
    expect(answer.status).toBe(200);
    expect((await app.fetch(request("GET"))).status).toBe(429);
    await answer.body?.cancel();
    expect((await app.fetch(request("GET"))).status).toBe(200);
    app.close();
  });

  test("one tenant's watches leave room for another's, and a place is free again when a watch ends", async () => {
    const { service, ask, authorization, port } = await twoTenants({ maxWatches: 8 });
    const start = `GET ${events} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization("greedy")}\r\n\r\n`;
    const watches = [await held(port, start), await held(port, start)];
    await until(() => watches.every(({ heard }) => heard().includes("event: change")));
    const refused = await ask("greedy", { path: events });
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining("of this tenant")]);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await ask("calm", { path: events })).status).toBe(200);
    watches[0]?.socket.destroy();
    let status = 429;
    while (status === 429) status = (await ask("greedy", { path: events })).status;
    expect(status).toBe(200);
    await service.close();
  });

  test("a watch that was asked for and given up before it began is not counted", async () => {
    let reach = (): void => undefined;
    const contact = new Promise<void>((resolve) => {
      reach = resolve;
    });
    class SlowToReach extends MemoryLog {
      connect = (): Promise<void> => contact;
    }
    await using there = await served(new SlowToReach(), { maxWatches: 1 });
    const authorization = `Bearer ${there.token}`;
    const start = `GET ${events} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`;
    const { socket } = await held(there.service.port, start);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    reach();
    const headers = { host: "localhost", authorization };
    // On a busy machine the service may notice only now that its client is gone. One that was counted would stay so.
    const watch = async () => (await rawRequest(there.service.port, { path: events, headers })).status;
    await expect.poll(watch).toBe(200);
  });

  test("a watch ends after its time, and its client opens another", async () => {
    await using there = await served(new MemoryLog(), { maxWatchMs: 50 });
    const headers = { host: "localhost", authorization: `Bearer ${there.token}` };
    const { heard } = await held(
      there.service.port,
      `GET ${events} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${headers.authorization}\r\n\r\n`,
    );
    await until(() => heard().endsWith("0\r\n\r\n"));
    expect(heard()).toContain("event: change");
  });
});

describe("connections", () => {
  test("one tenant's busy connections leave room for another's", async () => {
    const { service, ask, authorization, port } = await twoTenants({ maxConnections: 8 });
    const start = `GET ${events} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization("greedy")}\r\n\r\n`;
    const busy = [await held(port, start), await held(port, start)];
    await until(() => busy.every(({ heard }) => heard().includes("event: change")));
    const refused = await ask("greedy", { path: "/v1/clock" });
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining("connections of this tenant")]);
    expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
    await service.close();
  });

  test("connections that nobody uses make room for one that is", async () => {
    const { service, ask, port } = await twoTenants({ maxConnections: 5 });
    const idle = await Promise.all(Array.from({ length: 20 }, () => held(port, "GET /v1/clock HTTP/1.1\r\nHost:")));
    for (let index = 0; index < 10; index++) expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
    await until(() => idle.filter(({ socket }) => !socket.destroyed).length <= 5);
    await service.close();
  });
});

test("a request with more headers than are read is refused with 431, and its DELETE is not carried out", async () => {
  const log = new MemoryLog();
  await using there = await served(log);
  await log.append("t", requestFor(recordAt(1)));
  const lines = (count: number): readonly string[] => [
    `DELETE ${pathOf("remove", { thread: "t" })} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${there.token}`,
    ...Array.from({ length: count }, (_, index) => `X-${index}: y`),
    'If-Match: "first:7"',
  ];
  const send = (count: number) => rawBytes(there.service.port, [`${lines(count).join("\r\n")}\r\n\r\n`]);
  for (const count of [98, 100, 150, 500]) {
    const heard = await send(count);
    expect(statusesIn(heard), `${count} headers`).toEqual([431]);
    expect(heard).toContain("at most 100 headers");
    expect(await log.tail("t")).toMatchObject({ entry: { seq: 1 } });
  }
  expect(statusesIn(await send(97)), "as many as are read, and the last of them counts").toEqual([412]);
});

describe("small requests that would cost much", () => {
  const json = { "content-type": "application/json" };
  const brackets = (count: number): string => `{"words":${"[".repeat(count)}${"]".repeat(count)},"limit":5}`;
  const fields = (count: number): string =>
    `{"limit":5,"words":["a"]${Array.from({ length: count }, (_, index) => `,"f${index}":0`).join("")}}`;
  const items = (count: number): string =>
    `{"limit":5,"words":[${Array.from({ length: count }, () => '""').join(",")}]}`;
  const LARGE = /larger than (?:262144|16384) bytes/;
  const DEEP = /nested more than 3 deep|larger than 16384/;
  const MANY = /more than 5000 fields and items|larger than 16384/;
  const cases: readonly [what: string, body: string | Uint8Array, says: RegExp][] = [
    ["16 MB of brackets in 15.6 kB of gzip", gzipSync(brackets(8_000_000), { level: 9 }), LARGE],
    ["300 kB in one kB of gzip", gzipSync(`{"words":["${"x".repeat(300_000)}"],"limit":5}`), LARGE],
    ["100,000 brackets", brackets(100_000), DEEP],
    ["a list in a list in a list", brackets(3), DEEP],
    ["10,000 fields", fields(10_000), MANY],
    ["60,000 items", items(60_000), MANY],
    ["30,000 fields", fields(30_000), LARGE],
  ];

  test.each(cases)("%s are refused before they are parsed", async (_, body, says) => {
    await using there = await served();
    const packing = typeof body === "string" ? {} : { "content-encoding": "gzip" };
    const headers = { host: "localhost", authorization: `Bearer ${there.token}`, ...json, ...packing };
    for (const path of ["/v1/search", "/v1/metadata-query", pathOf("copy", { thread: "t" })]) {
      const length = { "content-length": String(Buffer.byteLength(body)) };
      const answer = await rawRequest(there.service.port, {
        method: "POST",
        path,
        headers: { ...headers, ...length },
        body,
      });
      expect(answer.body, path).toMatch(says);
      expect([400, 413]).toContain(answer.status);
    }
  });

  test("brackets and quotes inside of a text are text", async () => {
    await using there = await served();
    const headers = { host: "localhost", authorization: `Bearer ${there.token}`, ...json };
    const body = JSON.stringify({ target: `${"[{,".repeat(200)}"\\`, generation: "g" });
    const path = pathOf("copy", { thread: "absent" });
    const answer = await rawRequest(there.service.port, { method: "POST", path, headers, body });
    expect([answer.status, answer.body]).toEqual([200, '{"outcome":"no source"}']);
  });

  test("the head of an append is looked at before it is parsed", async () => {
    await using there = await served();
    const headers = {
      host: "localhost",
      authorization: `Bearer ${there.token}`,
      "content-type": FRAME_TYPE,
      "if-none-match": "*",
    };
    const drop = Array.from({ length: 30_000 }, (_, index) => index + 1);
    const deep = JSON.parse(`${"[".repeat(1000)}${"]".repeat(1000)}`) as never;
    for (const [extra, says] of [
      [{ drop }, /more than 20000 fields/],
      [{ nested: deep }, /nested more than 4 deep/],
    ] as const) {
      const body = encodeAppend({ ...requestFor(recordAt(1)), ...extra });
      const path = pathOf("append", { thread: "t" });
      const answer = await rawRequest(there.service.port, { method: "POST", path, headers, body });
      expect([answer.status, answer.body]).toEqual([400, expect.stringMatching(says)]);
    }
  });
});

test("a body that arrives too slowly is answered with 408, and nothing is written", async () => {
  const log = new MemoryLog();
  await using there = await served(log, { timeouts: { requestMs: 300 } });
  const extra = [`Content-Type: ${FRAME_TYPE}`, "If-None-Match: *", "Content-Length: 100"];
  const lines = [`POST ${pathOf("append", { thread: "t" })} HTTP/1.1`, "Host: localhost", ...extra];
  const head = `${[...lines, `Authorization: Bearer ${there.token}`].join("\r\n")}\r\n\r\n`;
  const heard = await rawBytes(there.service.port, [head, "ab"], { quietMs: 2000 });
  expect(statusesIn(heard)).toEqual([408]);
  expect(heard).toContain('"code":"TIMEOUT"');
  expect(heard.toLowerCase()).toContain("connection: close");
  expect(await log.tail("t")).toBeUndefined();
});
