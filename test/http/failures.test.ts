import { once } from "node:events";
import { createServer, request as httpRequest, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { createApp, type ReportedFailure } from "../../src/entry/server.ts";
import { ERROR_CODES, type ErrorCode, StateError } from "../../src/errors.ts";
import { AgentState, userMessage } from "../../src/index.ts";
import { FaultyLog } from "../../src/testing/faulty-log.ts";
import { recordAt } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeChain } from "../../src/wire/messages.ts";
import { STATUS_OF } from "../../src/wire/problems.ts";
import { FRAME_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import { noticedByClients } from "../network/noticed-by-clients.ts";
import { turnsPass } from "../turns-of-the-loop.ts";
import { served } from "./served.ts";

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];
const ONCE = { retry: { attempts: 1 } };
const SECRET_PATH = "/var/lib/holdfast/secret.db";

describe("a failure behind the service arrives as itself", () => {
  test.each(CODES)("%s", async (code) => {
    let isDown = false;
    const failures: ReportedFailure[] = [];
    const faulty = new FaultyLog(new MemoryLog(), { faultAt: () => (isDown ? { when: "before", code } : undefined) });
    await using there = await served(faulty, { ...ONCE, onFailure: (failure) => failures.push(failure) });
    await using client = there.client(ONCE);
    const state = AgentState.create().withMessage(userMessage("one"));
    await client.save(state, "t");
    isDown = true;
    const calls: readonly (() => Promise<unknown>)[] = [
      () => client.load("t"),
      () => client.save(state.withMessage(userMessage("two")), "t"),
      () => client.listCheckpoints("t"),
      () => client.exists("t"),
      () => client.delete("t"),
      () => client.listThreads(),
    ];
    for (const call of calls) {
      const error = await call().catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(StateError);
      expect(error).toMatchObject({ code, retryable: ERROR_CODES[code].retryable, context: { backend: "http" } });
      expect(failures.at(-1)?.error).toMatchObject({ code });
      expect(String(error), "the operator finds it by its id").toContain(failures.at(-1)?.instance);
      expect(String(error), "the inside stays inside").not.toContain("injected");
    }
    isDown = false;
    expect((await client.load("t"))?.messages).toHaveLength(1);
  });
});

test("an upload that its client gave up is no failure of the service, with a socket and without", async () => {
  const told: unknown[] = [];
  await using own = await served(new MemoryLog(), { onFailure: (failure) => told.push(failure) });
  const path = pathOf("append", { thread: "u" });
  const head = {
    host: "127.0.0.1",
    authorization: `Bearer ${own.token}`,
    "content-type": FRAME_TYPE,
    "if-none-match": "*",
  };
  const expecting = { ...head, expect: "100-continue" };
  const upload = httpRequest({ host: "127.0.0.1", port: own.service.port, method: "POST", path, headers: expecting });
  upload.flushHeaders();
  await once(upload, "continue");
  upload.write("half of", () => upload.destroy());
  await once(upload, "error");
  // Closing waits until the connection is gone, and a few turns of the loop are more than what follows from that needs.
  await own.service.close();
  await turnsPass();
  const app = await createApp({ checkpointer: own.behind, onFailure: (failure) => told.push(failure) });
  const body = new ReadableStream({ start: (controller) => controller.error(new Error("the line was cut")) });
  const asked = new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: head,
    body,
    duplex: "half",
  } as RequestInit);
  const answer = await app.fetch(asked);
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/ended before its body was whole/)]);
  expect(told).toEqual([]);
});

test("what is thrown inside is shown to the operator and not to the client", async () => {
  class LeakyLog extends MemoryLog {
    override async readTail(): Promise<never> {
      throw new Error(`SELECT * FROM secrets; cannot open ${SECRET_PATH}`);
    }
  }
  const failures: ReportedFailure[] = [];
  await using there = await served(new LeakyLog(), { onFailure: (failure) => failures.push(failure) });
  await using client = there.client(ONCE);
  const error = await client.load("t").catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "UNKNOWN" });
  expect(inspect(error, { depth: 9 })).not.toMatch(/SELECT|secret|LeakyLog/);
  expect(inspect(failures, { depth: 9 })).toContain(SECRET_PATH);
});

/** Something that is no holdfast service. */
let stranger: Server | undefined;
afterEach(async () => {
  stranger?.closeAllConnections();
  stranger?.close();
  stranger = undefined;
  await noticedByClients();
});

async function strangerWith(listener: RequestListener, timeoutMs = 60_000): Promise<HTTPCheckpointer> {
  stranger = createServer(listener).listen(0, "127.0.0.1");
  await once(stranger, "listening");
  const baseUrl = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  return new HTTPCheckpointer({ baseUrl, token: "zebra-token-zebra", retry: { attempts: 1 }, timeoutMs });
}

const EVERY_READ = (client: HTTPCheckpointer): readonly (() => Promise<unknown>)[] => [
  () => client.load("t"),
  () => client.load("t", { checkpointId: "c" }),
  () => client.exists("t"),
  () => client.getMetadata("t"),
  () => client.listCheckpoints("t"),
  () => client.listThreads(),
  () => client.search("word"),
  () => client.queryByMetadata("a", 1),
  () => client.delete("t"),
  () => client.stats("t"),
  () => client.copyThread("t", "u"),
];

const CAPABILITIES = JSON.stringify({
  durability: "fsync",
  conditionalAppend: true,
  listThreads: true,
  ttl: false,
  maxRecordBytes: 1e6,
  search: "deferred",
  metadataQuery: true,
});

/** Contact works; every later answer is the stranger's. */
const afterContact =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    if (request.url !== "/v1/capabilities") return listener(request, response);
    response.writeHead(200, { "content-type": "application/json", [PROTOCOL_HEADER]: PROTOCOL_VERSION });
    response.end(CAPABILITIES);
  };

const STRANGERS: readonly [what: string, code: ErrorCode, listener: RequestListener][] = [
  ...(
    [
      [200, "UNKNOWN"],
      [204, "UNKNOWN"],
      [301, "UNKNOWN"],
      [302, "UNKNOWN"],
      [304, "UNKNOWN"],
      [400, "UNKNOWN"],
      [401, "PERMISSION_DENIED"],
      [403, "PERMISSION_DENIED"],
      [404, "UNKNOWN"],
      [405, "UNKNOWN"],
      [408, "TIMEOUT"],
      [409, "UNKNOWN"],
      [410, "UNKNOWN"],
      [412, "UNKNOWN"],
      [413, "TOO_LARGE"],
      [429, "RATE_LIMITED"],
      [500, "UNAVAILABLE"],
      [502, "UNAVAILABLE"],
      [503, "UNAVAILABLE"],
      [504, "TIMEOUT"],
    ] as const
  ).map(([status, code]): [string, ErrorCode, RequestListener] => [
    `a page with status ${status} that is not the service's`,
    code,
    (_, response) => {
      response.writeHead(status, { "content-type": "text/html", location: "http://127.0.0.1:9/login" });
      response.end(status === 204 || status === 304 ? undefined : "<html>Please sign in</html>");
    },
  ]),
  [
    'a stranger\'s JSON that says {"found": false}',
    "UNKNOWN",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"found":false,"entries":[],"items":[],"outcome":"absent","hits":[]}');
    },
  ],
  [
    "an answer of a later protocol",
    "INCOMPATIBLE",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", [PROTOCOL_HEADER]: "2" });
      response.end('{"found":false}');
    },
  ],
  [
    "an empty answer with the service's mark",
    "UNAVAILABLE",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", [PROTOCOL_HEADER]: PROTOCOL_VERSION });
      response.end();
    },
  ],
  [
    "half an answer with a Content-Length that fits the half",
    "UNAVAILABLE",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", [PROTOCOL_HEADER]: PROTOCOL_VERSION });
      response.end('{"found":false,"entries":[],"items":[],"outcome":"absent","hits":[]');
    },
  ],
  [
    "an answer that stops short of its Content-Length",
    "UNAVAILABLE",
    (_, response) => {
      const headers = {
        "content-type": "application/json",
        "content-length": "900",
        [PROTOCOL_HEADER]: PROTOCOL_VERSION,
      };
      response.writeHead(200, headers);
      response.write('{"found":false}');
      setTimeout(() => response.destroy(), 20);
    },
  ],
  ["a service that does not answer", "TIMEOUT", () => undefined],
  ["a service that hangs up", "UNAVAILABLE", (request) => request.socket.destroy()],
];

describe.each(STRANGERS)("%s", (_, code, listener) => {
  test(`is ${code}, and never "no state"`, async () => {
    const client = await strangerWith(afterContact(listener), code === "TIMEOUT" ? 500 : undefined);
    await vi.waitFor(() => client.connect(), { timeout: 60_000 });
    for (const call of EVERY_READ(client)) {
      const error = await call().catch((failure: unknown) => failure);
      expect(error, String(call)).toMatchObject({ code });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/zebra|Please sign in/);
    }
    await client.close();
  });
});

test("a frame that was cut off anywhere, behind a fitting Content-Length, is no state", async () => {
  const frame = encodeChain({ generation: "g", tail: recordAt(1), records: [recordAt(1)] });
  let length = 0;
  const client = await strangerWith(
    afterContact((_, response) => {
      response.writeHead(200, { "content-type": FRAME_TYPE, [PROTOCOL_HEADER]: PROTOCOL_VERSION });
      response.end(frame.subarray(0, length));
    }),
  );
  for (length = 0; length < frame.length; length++) {
    await expect(client.load("t"), `${length} bytes`).rejects.toMatchObject({ code: "UNAVAILABLE" });
  }
  await client.close();
});

test("an address with no listener is UNAVAILABLE, and the token is in no error", async () => {
  const client = await strangerWith(() => undefined);
  stranger?.close();
  const error = await client.load("t").catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "UNAVAILABLE", context: { operation: "load", threadId: "t" } });
  expect(String(error)).toMatch(/^StateError: http: load failed for thread "t": .*ECONNREFUSED/);
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("zebra");
});

test("an address with https:// and a listener without TLS says so", async () => {
  await using there = await served();
  await using client = there.client({ baseUrl: there.service.url.replace("http:", "https:"), ...ONCE });
  await expect(client.load("t")).rejects.toThrow(
    /does not speak TLS; does baseUrl say https:\/\/ where http:\/\/ is meant/,
  );
});

test("a line that goes dead is TIMEOUT at the deadline, and the same save repeated is applied once", async () => {
  await using there = await served();
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  await using client = there.client({
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    timeoutMs: 1_500,
    retry: { attempts: 2, baseDelayMs: 1 },
  });
  await client.connect();
  const state = AgentState.create().withMessage(userMessage("one"));
  proxy.swallow("to client");
  await expect(client.save(state, "t")).rejects.toMatchObject({ code: "TIMEOUT" });
  proxy.restore();
  await client.save(state, "t");
  expect(await there.behind.listCheckpoints("t")).toHaveLength(1);
  await proxy.close();
});

test("every code has a status that says the same to everything in between", () => {
  for (const code of CODES) {
    expect(STATUS_OF[code]).toBeGreaterThanOrEqual(400);
    expect([408, 429, 502, 503, 504].includes(STATUS_OF[code]) || !ERROR_CODES[code].retryable, code).toBe(true);
  }
});
