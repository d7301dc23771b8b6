import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { classify } from "../../src/backends/http/classify.ts";
import { type Exchange, overFetch } from "../../src/backends/http/exchange.ts";
import { overNode } from "../../src/backends/http/node-exchange.ts";

const WAYS: Readonly<Record<string, Exchange>> = { "Node's client": overNode, fetch: overFetch(globalThis.fetch) };
const LONG = "0123456789".repeat(1000);

async function listening(answer: RequestListener) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer);
  const ports = new Set<number | undefined>();
  server.on("request", ({ socket }) => ports.add(socket.remotePort));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const ask = (exchange: Exchange, { limit = 1_000_000, signal = new AbortController().signal } = {}) =>
    exchange({ base, path: "/p?q=1", method: "POST", headers: { "x-own": "yes" }, body: "body" }, () => limit, signal);
  const end = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
  };
  return { base, ask, ports, [Symbol.asyncDispose]: end };
}

describe.each(Object.entries(WAYS))("a request by %s", (_, exchange) => {
  test("arrives with its path, headers and body, and the answer with all of its own", async () => {
    await using there = await listening(async (incoming, outgoing) => {
      const [body] = (await incoming.toArray()) as [Buffer];
      const { method, url, headers } = incoming;
      outgoing.setHeader("X-Word", "spoken");
      outgoing.writeHead(201);
      outgoing.end(JSON.stringify([method, url, headers["x-own"], headers["content-length"], body.toString()]));
    });
    const { status, header, bytes } = await there.ask(exchange);
    expect([status, header("x-word"), header("x-other")]).toEqual([201, "spoken", null]);
    expect(JSON.parse(String(bytes))).toEqual(["POST", "/p?q=1", "yes", "4", "body"]);
  });

  test("reads an answer that is packed, and counts what comes out of it", async () => {
    await using there = await listening((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-encoding": "gzip" });
      outgoing.end(gzipSync(LONG));
    });
    expect(String((await there.ask(exchange)).bytes)).toBe(LONG);
    expect((await there.ask(exchange, { limit: LONG.length - 1 })).bytes).toBeUndefined();
    expect(String((await there.ask(exchange, { limit: LONG.length })).bytes)).toBe(LONG);
  });

  test("fails as UNAVAILABLE where the answer ends before its length", async () => {
    await using there = await listening((_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-length": "100" });
      outgoing.write("some", () => outgoing.destroy());
    });
    expect(classify(await failureOf(there.ask(exchange)))).toBe("UNAVAILABLE");
  });

  test("follows no redirect", async () => {
    let asked = 0;
    await using there = await listening((_incoming, outgoing) => {
      asked++;
      outgoing.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect((await there.ask(exchange)).status).toBe(307);
    expect(asked).toBe(1);
  });

  test("is sent once: a kept connection that dies under it fails as UNAVAILABLE, although the service carried it out", async () => {
    let carriedOut = 0;
    await using there = await listening((incoming, outgoing) => {
      carriedOut++;
      if (carriedOut === 1) outgoing.end("first");
      else incoming.resume().on("end", () => incoming.socket.resetAndDestroy());
    });
    expect(String((await there.ask(exchange)).bytes)).toBe("first");
    expect(classify(await failureOf(there.ask(exchange)))).toBe("UNAVAILABLE");
    expect(carriedOut).toBe(2);
  });

  test("ends with the reason of its signal, before the answer and in the midst of it", async () => {
    const reason = new DOMException("too long", "TimeoutError");
    for (const beginning of ["", "some"]) {
      const stop = new AbortController();
      await using there = await listening((_incoming, outgoing) => {
        if (beginning !== "") outgoing.write(beginning);
        setImmediate(() => stop.abort(reason));
      });
      expect(await failureOf(there.ask(exchange, { signal: stop.signal }))).toBe(reason);
      expect(await failureOf(there.ask(exchange, { signal: stop.signal }))).toBe(reason);
    }
  });

  test("says that no server listens", async () => {
    const server = createSocketServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    await once(server, "close");
    const request = { base, path: "/", method: "GET", headers: {}, body: undefined };
    const failure = await failureOf(exchange(request, () => 1, new AbortController().signal));
    expect(classify(failure)).toBe("UNAVAILABLE");
  });
});

test.each([
  ["is cut off", gzipSync(LONG).subarray(0, 30)],
  ["was changed", Buffer.from("no gzip at all")],
])("Node's client fails as UNAVAILABLE where a packed answer %s", async (_how, sent) => {
  await using there = await listening((_incoming, outgoing) => {
    outgoing.writeHead(200, { "content-encoding": "gzip" });
    outgoing.end(sent);
  });
  expect(classify(await failureOf(there.ask(overNode)))).toBe("UNAVAILABLE");
});

test("Node's client refuses an answer whose Content-Encoding it did not ask for", async () => {
  await using there = await listening((_incoming, outgoing) => {
    outgoing.writeHead(200, { "content-encoding": "br" }).end("packed otherwise");
  });
  expect(String(await failureOf(there.ask(overNode)))).toMatch(/Content-Encoding that was not asked for/);
});

test.each([204, 304])(
  "Node's client gives no bytes for an answer of %s that tells a length and has no body",
  async (status) => {
    await using there = await listening((_incoming, outgoing) => {
      outgoing.writeHead(status, { "content-length": "300" }).end();
    });
    expect(await there.ask(overNode)).toMatchObject({ status, bytes: Buffer.alloc(0) });
  },
);

test("Node's client fails at once where the answer switches to another protocol", async () => {
  await using there = await listening((_incoming, outgoing) => {
    outgoing.socket?.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n");
  });
  const failure = await failureOf(there.ask(overNode));
  expect([classify(failure), String(failure)]).toEqual([
    "UNAVAILABLE",
    expect.stringMatching(/switches to a protocol/),
  ]);
});

test("Node's client keeps its connection where the service keeps it, and gives up one that the service says it will end", async () => {
  await using kept = await listening((_incoming, outgoing) => outgoing.end("kept"));
  for (let index = 0; index < 3; index++) await kept.ask(overNode);
  expect(kept.ports.size).toBe(1);
  await using ending = await listening((_incoming, outgoing) => {
    outgoing.writeHead(200, { connection: "close" }).end("over");
  });
  for (let index = 0; index < 3; index++) await ending.ask(overNode);
  expect(ending.ports.size).toBe(3);
});

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
