import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { createApp, createToken, serve } from "../../src/entry/server.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { FRAME_TYPE, SCOPES } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { type RawRequest, rawBytes, rawRequest, statusesIn } from "./raw-requests.ts";
import { served } from "./served.ts";

const events = pathOf("subscribe", { thread: "t" });
const TENANTS = ["greedy", "calm"] as const;

/** A service with two tenants. */
async function twoTenants(options: object, log = new MemoryLog(), named = true) {
  const tokens = TENANTS.map((tenant) => ({ tenant, ...createToken() }));
  const known = tokens.map(({ tenant, sha256 }) => ({ ...(named && { tenant }), sha256, scopes: SCOPES }));
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

/** The same with two tokens that name no tenants: both may reach everything. */
const twoTokens = (options: object) => twoTenants(options, undefined, false);

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
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining("of this client")]);
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
      override connect = (): Promise<void> => contact;
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
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining("connections of this client")]);
    expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
    await service.close();
  });

  test("idle connections make room for a new one", async () => {
    const { service, ask, port } = await twoTenants({ maxConnections: 5 });
    const idle = await Promise.all(Array.from({ length: 20 }, () => held(port, "GET /v1/clock HTTP/1.1\r\nHost:")));
    for (let index = 0; index < 10; index++) expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
    await until(() => idle.filter(({ socket }) => !socket.destroyed).length <= 5);
    await service.close();
  });
});

describe("answers that are not read", () => {
  /** More than the kernel takes for a client that does not read. */
  const LARGE = 14 * 1024 * 1024;
  const state = pathOf("readTail", { thread: "t" });

  async function largeThreads(options: object) {
    const log = new MemoryLog();
    for (const tenant of TENANTS)
      await log.append(`${tenant}/t`, requestFor(recordAt(1, { body: Buffer.alloc(LARGE, tenant) })));
    const there = await twoTenants({ maxPendingBytesPerTenant: LARGE + 1024 * 1024, ...options }, log);
    const start = `GET ${state} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${there.authorization("greedy")}\r\n\r\n`;
    /** A connection that asks and never reads a byte. */
    const unread = async (times = 1): Promise<Socket> => {
      const socket = connect(there.port, "127.0.0.1");
      sockets.push(socket);
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.write(start.repeat(times));
      return socket;
    };
    const status = async (tenant: (typeof TENANTS)[number]) => (await there.ask(tenant, { path: state })).status;
    return { ...there, unread, status };
  }

  test("twenty sockets that never read hold one tenant's share, and another's answers are given meanwhile", async () => {
    const { service, unread, status, ask } = await largeThreads({});
    const waiting = await Promise.all(Array.from({ length: 20 }, () => unread()));
    await expect.poll(() => status("greedy")).toBe(429);
    for (let index = 0; index < 3; index++) expect(await status("calm")).toBe(200);
    const refused = await ask("greedy", { path: state });
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining("too much is under way")]);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    for (const socket of waiting) socket.destroy();
    await expect.poll(() => status("greedy")).toBe(200);
    await service.close();
  });

  test("a connection that takes nothing of its answer is ended, and what it held is free", async () => {
    const { service, unread, status } = await largeThreads({ timeouts: { writeMs: 100 } });
    const socket = await unread();
    let heard = 0;
    await expect.poll(() => status("greedy")).toBe(200);
    await new Promise<void>((resolve) => {
      socket.on("data", (chunk: Buffer) => {
        heard += chunk.byteLength;
      });
      socket.once("close", () => resolve());
    });
    expect(heard, "less than the answer: the service did not wait for the rest to be read").toBeLessThan(LARGE);
    await service.close();
  });

  test("answers that wait behind an unread one are counted too, and are free when the connection is gone", async () => {
    const { service, unread, status } = await largeThreads({ maxPendingBytesPerTenant: 2 * LARGE + 1024 * 1024 });
    const socket = await unread(2);
    await expect.poll(() => status("greedy")).toBe(429);
    expect(await status("calm")).toBe(200);
    socket.destroy();
    await expect.poll(() => status("greedy")).toBe(200);
    await service.close();
  });

  test("bodies that arrive count as well: nothing is done with one that has no room", async () => {
    const log = new MemoryLog();
    const options = { maxPendingBytesPerTenant: 300_000 };
    const { service, ask, authorization, port } = await twoTenants(options, log);
    const head = (thread: string): string =>
      [
        `POST ${pathOf("append", { thread })} HTTP/1.1`,
        "Host: localhost",
        `Authorization: ${authorization("greedy")}`,
        `Content-Type: ${FRAME_TYPE}`,
        "If-None-Match: *",
        "Content-Length: 400000",
      ].join("\r\n");
    const slow = await held(port, `${head("slow")}\r\n\r\n${"x".repeat(200_000)}`);
    const append = (tenant: (typeof TENANTS)[number]) =>
      ask(tenant, {
        method: "POST",
        path: pathOf("append", { thread: "t" }),
        headers: { "content-type": FRAME_TYPE, "if-none-match": "*" },
        body: encodeAppend(requestFor(recordAt(1, { body: Buffer.alloc(200_000) }))),
      });
    const search = { method: "POST", path: "/v1/search", headers: { "content-type": "application/json" } };
    // The service may have read less of the slow body until now: then there is room, and the next try is later.
    const isFull = async () =>
      (await ask("greedy", { ...search, body: `{"words":["${"x".repeat(150_000)}"],"limit":1}` })).status;
    await expect.poll(isFull).toBe(429);
    expect((await append("greedy")).status).toBe(429);
    expect(await log.tail("greedy/t")).toBeUndefined();
    expect((await append("calm")).status).toBe(201);
    slow.socket.destroy();
    await expect.poll(async () => (await append("greedy")).status).toBe(201);
    await service.close();
  });
});

describe("many requests on one connection", () => {
  const pipelined = (count: number, authorization?: string): string =>
    `GET /v1/clock HTTP/1.1\r\nHost: localhost\r\n${authorization === undefined ? "" : `Authorization: ${authorization}\r\n`}\r\n`.repeat(
      count,
    );

  test("five connections without a token and 20,000 requests each are ended after a hundred, and others are served", async () => {
    const { service, ask, port } = await twoTenants({});
    const strangers = await Promise.all(Array.from({ length: 5 }, () => held(port, pipelined(20_000))));
    expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
    await until(() => strangers.every(({ socket }) => socket.destroyed));
    for (const { heard } of strangers) {
      const statuses = statusesIn(heard());
      expect(statuses.length).toBeLessThanOrEqual(101);
      expect(new Set(statuses.slice(0, 100))).toEqual(new Set(statuses.length === 0 ? [] : [401]));
    }
    await service.close();
  });

  test("a request over the limit is refused with the reason, each time", async () => {
    const { service, port } = await twoTenants({});
    const { heard, socket } = await held(port, "");
    for (let count = 1; count <= 101; count++) {
      socket.write(pipelined(1));
      await until(() => statusesIn(heard()).length >= count);
    }
    await until(() => socket.destroyed);
    expect(statusesIn(heard())).toEqual([...Array.from({ length: 100 }, () => 401), 429]);
    await service.close();
  });

  test("with a known token there is no end to requests one after the other, and one to those at once", async () => {
    const { service, port, authorization } = await twoTenants({});
    const { heard, socket } = await held(port, "");
    for (let count = 1; count <= 250; count++) {
      socket.write(pipelined(1, authorization("calm")));
      await until(() => statusesIn(heard()).length >= count);
    }
    expect(new Set(statusesIn(heard()))).toEqual(new Set([200]));
    const eager = await held(port, pipelined(20_000, authorization("greedy")));
    await until(() => eager.socket.destroyed);
    expect(statusesIn(eager.heard()).length).toBeLessThan(20_000);
    await service.close();
  });
});

test("without tenants, a token that sends slow bodies on all connections leaves room for another's", async () => {
  const { service, ask, authorization, port } = await twoTokens({ maxConnections: 40 });
  const watch = `GET ${events} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization("calm")}\r\n\r\n`;
  const watching = await held(port, watch);
  await until(() => watching.heard().includes("event: change"));
  const slow = [
    `POST ${pathOf("append", { thread: "slow" })} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${authorization("greedy")}`,
    `Content-Type: ${FRAME_TYPE}`,
    "If-None-Match: *",
    "Content-Length: 100",
  ].join("\r\n");
  const bodies = await Promise.all(Array.from({ length: 60 }, () => held(port, `${slow}\r\n\r\nab`)));
  await until(() => bodies.filter(({ socket, heard }) => socket.destroyed || heard().includes(" 429 ")).length >= 50);
  for (let index = 0; index < 5; index++) expect((await ask("calm", { path: "/v1/clock" })).status).toBe(200);
  expect(watching.socket.destroyed).toBe(false);
  await service.close();
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
