import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { openUrl } from "../../src/backends/http/checkpointer.ts";
import { HTTPCheckpointer, type HTTPCheckpointerOptions } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState, userMessage } from "../../src/index.ts";
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from "../../src/wire/protocol.ts";
import { noticedByClients } from "../network/noticed-by-clients.ts";
import { served } from "./served.ts";

const MARK = { "content-type": "application/json", [PROTOCOL_HEADER]: PROTOCOL_VERSION };
const CAPABILITIES = JSON.stringify({
  durability: "fsync",
  conditionalAppend: true,
  listThreads: true,
  ttl: false,
  maxRecordBytes: 1e6,
  search: "none",
  metadataQuery: false,
});

let other: Server | undefined;
afterEach(async () => {
  other?.closeAllConnections();
  other?.close();
  other = undefined;
  await noticedByClients();
});

/** A client of something that makes contact as a service does, and then answers as `listener` does. */
async function clientOf(
  listener: RequestListener,
  options: Partial<HTTPCheckpointerOptions> = {},
): Promise<HTTPCheckpointer> {
  other = createServer((request, response) => {
    if (request.url !== "/v1/capabilities") return listener(request, response);
    response.writeHead(200, MARK).end(CAPABILITIES);
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  const baseUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const client = new HTTPCheckpointer({ baseUrl, token: "zebra-token-zebra", ...options });
  await client.connect();
  return client;
}

describe("a pause that the other side asks for", () => {
  const problem = JSON.stringify({ code: "RATE_LIMITED", title: "slow down", status: 429 });

  /** When the requests came; the first `refusals` of them are asked to wait. */
  async function requestsOf(refusals: number, headers: Readonly<Record<string, string>>, status = 429, ours = true) {
    const at: number[] = [];
    const client = await clientOf((_, response) => {
      at.push(performance.now());
      if (at.length > refusals) response.writeHead(200, MARK).end('{"found":false}');
      else response.writeHead(status, { ...(ours && MARK), ...headers }).end(ours ? problem : "busy");
    });
    const loaded = await client.load("t").then(
      () => undefined,
      (error: unknown) => error,
    );
    await client.close();
    return { pauses: at.slice(1).map((time, index) => time - (at[index] ?? 0)), count: at.length, error: loaded };
  }

  test("in seconds is waited for before every attempt", async () => {
    const { pauses, error } = await requestsOf(2, { "retry-after": "1" });
    expect(error).toBeUndefined();
    expect(pauses).toHaveLength(2);
    for (const pause of pauses) expect(pause).toBeGreaterThan(990);
  });

  test("as a date is taken by the other side's own clock", async () => {
    const date = new Date(Date.UTC(2001, 0, 1));
    const after = new Date(date.getTime() + 1000);
    const { pauses } = await requestsOf(1, { date: date.toUTCString(), "retry-after": after.toUTCString() });
    expect(pauses[0]).toBeGreaterThan(990);
  });

  test("by something in between is waited for too", async () => {
    const { pauses, error } = await requestsOf(1, { "retry-after": "1" }, 503, false);
    expect([error, pauses.length]).toEqual([undefined, 1]);
    expect(pauses[0]).toBeGreaterThan(990);
  });

  test("that is too long is told to the caller at once", async () => {
    const { count, error } = await requestsOf(9, { "retry-after": "3600" });
    expect(count).toBe(1);
    expect(error).toMatchObject({ code: "RATE_LIMITED", retryable: true, context: { retryAfterMs: 3_600_000 } });
  });

  test.each(["soon", "-1", "", "1e9"])("that is %j is ignored", async (value) => {
    const { count, error } = await requestsOf(1, { "retry-after": value });
    expect([count, error]).toEqual([2, undefined]);
  });

  test("by the service itself is heeded: a client over its limit gets through", async () => {
    await using there = await served(new MemoryLog(), { rateLimit: { perSecond: 2, burst: 2 } });
    await using client = there.client();
    for (let index = 0; index < 4; index++) expect(await client.exists("t")).toBe(false);
  });
});

describe("a token goes to another machine encrypted", () => {
  const token = "zebra-token-zebra";
  const make =
    (baseUrl: string, options: object = { token }) =>
    () =>
      new HTTPCheckpointer({ baseUrl, ...options });

  test.each([
    "http://state.example.com",
    "http://10.0.0.1:8420",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://[2001:db8::1]",
  ])("%s is refused with what to do", (baseUrl) => {
    expect(make(baseUrl)).toThrow(/use https:\/\/, or set allowPlainHttp: true/);
    expect(make(baseUrl, { headers: { Authorization: `Bearer ${token}` } })).toThrow(/use https/);
    expect(make(baseUrl)).not.toThrow(/zebra/);
    expect(make(baseUrl, {})).not.toThrow();
    expect(make(baseUrl, { token, allowPlainHttp: true })).not.toThrow();
  });

  test.each([
    "https://state.example.com",
    "http://localhost:1",
    "http://state.localhost",
    "http://127.3.2.1",
    "http://[::1]:2",
  ])("%s is taken", (baseUrl) => {
    expect(make(baseUrl)).not.toThrow();
  });

  test("in a URL as well", async () => {
    await expect(openCheckpointer(`http://:${token}@state.example.com`)).rejects.toThrow(/allowPlainHttp/);
    const opened = await openCheckpointer(`http://:${token}@state.example.com?allowPlainHttp=true`);
    await opened.close();
  });
});

describe("an answer has a size limit", () => {
  test("a state that is larger is TOO_LARGE and names the option", async () => {
    await using there = await served();
    await there.behind.save(AgentState.create().withMessage(userMessage("x".repeat(50_000))), "t");
    for (const headers of [{}, { "accept-encoding": "gzip" }]) {
      await using client = there.client({ maxAnswerBytes: 20_000, headers });
      await expect(client.load("t")).rejects.toMatchObject({
        code: "TOO_LARGE",
        message: expect.stringMatching(/larger than 20000 bytes; the option maxAnswerBytes/),
      });
      expect(await client.exists("t")).toBe(true);
    }
    await using client = there.client({ maxAnswerBytes: 60_000 });
    expect((await client.load("t"))?.messages).toHaveLength(1);
  });

  test("kilobytes that unpack to gigabytes are not unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(512 * 1024 * 1024), { level: 9 });
    const client = await clientOf(
      (_, response) => response.writeHead(200, { ...MARK, "content-encoding": "gzip" }).end(bomb),
      { maxAnswerBytes: 1_000_000 },
    );
    const before = process.memoryUsage().arrayBuffers;
    await expect(client.load("t")).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    await client.close();
  });

  test("a stranger's page without end is reported as what it is", async () => {
    const client = await clientOf(
      (_, response) => {
        response.writeHead(502, { "content-type": "text/html" });
        const more = (): void => void (response.destroyed || response.write("x".repeat(65_536), more));
        more();
      },
      { retry: { attempts: 1 } },
    );
    await expect(client.load("t")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await client.close();
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("maxAnswerBytes: %d is refused", (maxAnswerBytes) => {
    expect(() => new HTTPCheckpointer({ baseUrl: "http://localhost", maxAnswerBytes })).toThrow(/maxAnswerBytes/);
  });
});

test.each([
  "https://h/?t=zebra",
  "https://h/?zebra",
  "https://h/?allowPlainHttp=zebra",
  "https://h/#zebra",
  "https://h/path?x=1&access=zebra#zebra",
  "https://zebra@h/",
  "https://zebra:zebra@h/",
  "https://:%zzzebra@h/",
  "https://:pass/zebra@h/",
  "https://:12/zebra@h/",
  "https://x:12/zebra@h/",
  "https://:pass?zebra@h/",
  "https://x:12?zebra@h/",
  "https://x:12#zebra@h/",
  "https://",
])("%s is refused, with how to write it and without anything of it", async (url) => {
  const error = await openCheckpointer(url).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(StateError);
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("%2F %3F %23 and %40") });
  expect(inspect(error, { depth: 9, showHidden: true }).split("\n    at ")[0]).not.toContain("zebra");
  expect(() => openUrl(url)).toThrow(StateError);
});

test("HTTPCheckpointer refuses an option that it does not have, or of another type", () => {
  const make = (options: object) => () => new HTTPCheckpointer(options as HTTPCheckpointerOptions);
  expect(make({ baseUrl: "https://h", tokens: "x" })).toThrow(/no option "tokens"; did you mean "token"\?/);
  expect(make({ baseUrl: "https://h", allowPlainHttp: "yes" })).toThrow(/allowPlainHttp must be a boolean/);
  expect(make("https://h" as never)).toThrow(/takes an options object/);
});
