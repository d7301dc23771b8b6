import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { FRAME_TYPE } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { rawBytes, rawRequest, statusesIn } from "./raw-requests.ts";
import { type Served, served } from "./served.ts";

const LIMIT = 256 * 1024;
const log = new MemoryLog();
let there: Served;
let lines: readonly string[];

beforeAll(async () => {
  there = await served(log, { maxBodyBytes: LIMIT });
  lines = linesFor(there);
  await log.append("t", requestFor(recordAt(1)));
});
afterAll(() => there[Symbol.asyncDispose]());

const linesFor = ({ service, token }: Served): readonly string[] => [
  `Host: 127.0.0.1:${service.port}`,
  `Authorization: Bearer ${token}`,
];

/** After everything: the thread is as it was, and the service answers. */
async function expectUnharmed(): Promise<void> {
  expect(await log.tail("t")).toMatchObject({ entry: { seq: 1 } });
  expect((await log.listThreads({ prefix: "", limit: 10 })).items).toHaveLength(1);
  const headers = { host: `127.0.0.1:${there.service.port}`, authorization: `Bearer ${there.token}` };
  expect((await rawRequest(there.service.port, { path: "/v1/clock", headers })).status).toBe(200);
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain("polluted");
}

const request = (
  start: string,
  extra: readonly string[] = [],
  body: string | Uint8Array = "",
  first: readonly string[] = lines,
): (string | Uint8Array)[] => [
  `${[`${start} HTTP/1.1`, ...first, ...extra].join("\r\n")}\r\n\r\n`,
  ...(body.length > 0 ? [body] : []),
];

const appendPath = (): string => pathOf("append", { thread: "u" });
const appendLines = [`Content-Type: ${FRAME_TYPE}`, "If-None-Match: *"];
const small = encodeAppend(requestFor(recordAt(1)));

test("a gzip body of kilobytes that unpacks to gigabytes is refused after the limit", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 });
  expect(bomb.length).toBeLessThan(LIMIT);
  const extra = [...appendLines, "Content-Encoding: gzip", `Content-Length: ${bomb.length}`];
  const before = process.memoryUsage().arrayBuffers;
  const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, bomb));
  expect(statusesIn(heard)).toEqual([413]);
  expect(heard).toContain("TOO_LARGE");
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  await expectUnharmed();
});

test("a gzip body that is whole is taken, and one that is cut off is refused", async () => {
  const packed = gzipSync(small);
  const send = (body: Uint8Array) =>
    rawBytes(
      there.service.port,
      request(
        `POST ${appendPath()}`,
        [...appendLines, "Content-Encoding: gzip", `Content-Length: ${body.length}`],
        body,
      ),
    );
  expect(statusesIn(await send(packed.subarray(0, packed.length - 9)))).toEqual([400]);
  expect(statusesIn(await send(packed))).toEqual([201]);
  await log.remove("u");
  for (const encoding of ["br", "deflate", "gzip, gzip", "zstd"]) {
    const extra = [...appendLines, `Content-Encoding: ${encoding}`, `Content-Length: ${small.length}`];
    expect(statusesIn(await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, small)))).toEqual([
      415,
    ]);
  }
  await expectUnharmed();
});

test("a chunked body without end is refused at the limit", async () => {
  const chunk = `${(64 * 1024).toString(16)}\r\n${"x".repeat(64 * 1024)}\r\n`;
  const extra = [...appendLines, "Transfer-Encoding: chunked"];
  const heard = await rawBytes(there.service.port, [
    ...request(`POST ${appendPath()}`, extra),
    ...Array.from({ length: 40 }, () => chunk),
  ]);
  expect(statusesIn(heard)).toEqual([413]);
  await expectUnharmed();
});

test("a Content-Length above the limit is refused before the body", async () => {
  const heard = await rawBytes(
    there.service.port,
    request(`POST ${appendPath()}`, [...appendLines, "Content-Length: 99999999999"]),
  );
  expect(statusesIn(heard)[0]).toBe(413);
  await expectUnharmed();
});

test("a Content-Length that promises more than comes writes nothing", async () => {
  const extra = [...appendLines, `Content-Length: ${small.length + 100}`];
  const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, small), {
    endAfter: true,
    quietMs: 800,
  });
  expect(statusesIn(heard)).not.toContain(201);
  await expectUnharmed();
});

test("a Content-Length that promises less than comes writes nothing, and the rest is no request", async () => {
  const extra = [...appendLines, `Content-Length: ${small.length - 10}`];
  const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, small));
  expect(new Set(statusesIn(heard))).toEqual(new Set([400]));
  await expectUnharmed();
});

test.each([
  ["both lengths", ["Content-Length: 4", "Transfer-Encoding: chunked"]],
  ["two lengths", ["Content-Length: 4", "Content-Length: 5"]],
  ["a length that is no number", ["Content-Length: +4"]],
])("%s are refused", async (_, extra) => {
  const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, [...appendLines, ...extra], "abcd"));
  expect(statusesIn(heard)[0]).toBe(400);
  await expectUnharmed();
});

test("a request that never ends is ended by the service", async () => {
  // A service of its own: the requests of other tests may take as long as a busy machine needs.
  const slow = new MemoryLog();
  await using hasty = await served(slow, { maxBodyBytes: LIMIT, timeouts: { headersMs: 300, requestMs: 600 } });
  const ask = (parts: readonly (string | Uint8Array)[]) => rawBytes(hasty.service.port, parts, { quietMs: 4000 });
  expect(statusesIn(await ask(["GET /v1/clock HTTP/1.1\r\nHost: 127.0"]))).toEqual([408]);
  const extra = [...appendLines, "Content-Length: 100"];
  const slowBody = await ask(request(`POST ${appendPath()}`, extra, "ab", linesFor(hasty)));
  expect(statusesIn(slowBody)).not.toContain(201);
  expect(await slow.tail("u")).toBeUndefined();
  await expectUnharmed();
});

test.each([["__proto__: polluted"], ["constructor: polluted"], ["X-__proto__: polluted", "__PROTO__: polluted"]])(
  "the header %s is a header like any other",
  async (...extra) => {
    const heard = await rawBytes(there.service.port, request("GET /v1/clock", extra));
    expect(statusesIn(heard)).toEqual([200]);
    await expectUnharmed();
  },
);

test("keys of a message that name prototypes are keys like any other", async () => {
  const send = (body: string): Promise<string> => {
    const extra = ["Content-Type: application/json", `Content-Length: ${body.length}`];
    return rawBytes(there.service.port, request(`POST ${pathOf("copy", { thread: "absent" })}`, extra, body));
  };
  expect(await send('{"target":"__proto__","generation":"constructor"}')).toContain('"no source"');
  for (const stray of ['"__proto__":{"polluted":true}', '"constructor":{"prototype":{"polluted":true}}', '"other":1']) {
    expect(await send(`{${stray},"target":"a","generation":"g"}`)).toMatch(/ 400 .*a field that is not known/s);
  }
  expect(statusesIn(await send('{"__proto__":{"target":"a","generation":"g"}}'))).toEqual([400]);
  await expectUnharmed();
});

test("ten thousand headers, and a very long one, are refused", async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `X-${index}: y`);
  expect(statusesIn(await rawBytes(there.service.port, request("GET /v1/clock", many)))[0]).toBe(431);
  const long = [`X-Long: ${"y".repeat(100_000)}`];
  expect(statusesIn(await rawBytes(there.service.port, request("GET /v1/clock", long)))[0]).toBe(431);
  await expectUnharmed();
});

test.each(["Authorization: Bearer aaaa", "authorization: Bearer aaaa", "Host: evil.example"])(
  "a second header %s is refused",
  async (line) => {
    const heard = await rawBytes(there.service.port, request("GET /v1/clock", [line]));
    expect(statusesIn(heard)[0]).toBe(400);
    await expectUnharmed();
  },
);

test.each([
  "//admin",
  "//v1/clock",
  "/v1//clock",
  "/v1/%63lock",
  "/v1%2fclock",
  "/%2fadmin",
  "/v1/./clock",
  "/v1/../v1/clock",
  "/v1/%2e%2e/v1/clock",
  "/v1/threads/..",
  "/v1/threads/%2e%2e",
  "/v1/threads/..%2f..%2fhealthz",
  "/v1/threads/dA/..",
  "/v1/threads/dA/checkpoints/..%5c..",
  "/v1\\clock",
  "/v1/clock;x=1",
  "/v1/clock#x",
  "/v1/clock/",
  "http://evil.example/v1/clock",
  "v1/clock",
  "*",
  "/v1/clock\u0001",
])("the target %j reaches no route", async (target) => {
  for (const method of ["GET", "DELETE"]) {
    const heard = await rawBytes(there.service.port, request(`${method} ${target}`));
    expect(statusesIn(heard)[0], heard).toBe(400);
  }
  await expectUnharmed();
});

test.each(["Li4", "Li4vLi4", "LQ==", "dA=", "dA%3D", "d-A+", "dB", "gIA", "_w"])(
  "the segment %s is that id, or no id at all",
  async (segment) => {
    const heard = await rawBytes(there.service.port, request(`DELETE /v1/threads/${segment}`));
    expect([200, 400]).toContain(statusesIn(heard)[0]);
    await expectUnharmed();
  },
);

test("a delete that is pipelined behind a request goes through the same door", async () => {
  const first = request("GET /v1/clock").join("");
  const path = pathOf("remove", { thread: "t" });
  const host = lines[0];
  const behind = [
    `DELETE ${path} HTTP/1.1\r\n${host}\r\n\r\n`,
    `DELETE ${path} HTTP/1.1\r\n${host}\r\nAuthorization: Bearer invalid\r\n\r\n`,
    `DELETE ${path} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${there.token}\r\n\r\n`,
  ];
  const heard = await rawBytes(there.service.port, [first + behind.join("")]);
  expect(statusesIn(heard), heard).toEqual([200, 401, 401, 403]);
  await expectUnharmed();
});

test.each([
  ["no precondition", [`Content-Type: ${FRAME_TYPE}`], 428],
  ["preconditions that contradict each other", [...appendLines, 'If-Match: "g:1"'], 400],
  ["another place than the body", [`Content-Type: ${FRAME_TYPE}`, 'If-Match: "first:7"'], 400],
  ["a malformed tag", [`Content-Type: ${FRAME_TYPE}`, "If-Match: *"], 400],
  ["another key than the write id", [...appendLines, 'Idempotency-Key: "other"'], 400],
  ["a type that a form can send", ["Content-Type: text/plain", "If-None-Match: *"], 415],
])("an append with %s is refused", async (_, extra, status) => {
  const heard = await rawBytes(
    there.service.port,
    request(`POST ${appendPath()}`, [...extra, `Content-Length: ${small.length}`], small),
  );
  expect(statusesIn(heard)).toEqual([status]);
  await expectUnharmed();
});

test.each(["", "[]", "1", "{", '{"a":1}x', "null"])(
  "metadata that is %j, and no JSON object, is not stored",
  async (metadata) => {
    const body = encodeAppend(requestFor(recordAt(1, { metadata })));
    const extra = [...appendLines, `Content-Length: ${body.length}`];
    const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, body));
    expect(statusesIn(heard)).toEqual([400]);
    await expectUnharmed();
  },
);

test("a search for more words than the bound is refused", async () => {
  const body = JSON.stringify({ words: Array.from({ length: 1001 }, (_, index) => `w${index}`), limit: 5 });
  const extra = ["Content-Type: application/json", `Content-Length: ${body.length}`];
  expect(statusesIn(await rawBytes(there.service.port, request("POST /v1/search", extra, body)))).toEqual([400]);
});

test("an append that was changed in any bit on its way is refused", async () => {
  for (let index = 0; index < small.length; index += 11) {
    const changed = Uint8Array.from(small);
    changed[index] = changed[index]! ^ (1 << (index % 8));
    const extra = [...appendLines, `Content-Length: ${changed.length}`, "Connection: close"];
    const heard = await rawBytes(there.service.port, request(`POST ${appendPath()}`, extra, changed));
    expect(statusesIn(heard), `byte ${index}`).toEqual([400]);
  }
  await expectUnharmed();
});
