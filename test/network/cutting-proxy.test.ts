import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CuttingProxy, startCuttingProxy } from "./cutting-proxy.ts";

/** Sends back what it gets, and remembers it. */
let echo: Server;
let received: string;
let proxy: CuttingProxy;

beforeEach(async () => {
  received = "";
  echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk;
      socket.write(chunk);
    });
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startCuttingProxy({ targetPort: (echo.address() as AddressInfo).port });
});
afterEach(async () => {
  await proxy.close();
  echo.close();
});

async function connected(): Promise<Socket> {
  const socket = connect(proxy.port, proxy.host);
  await once(socket, "connect");
  return socket;
}

/** Everything that arrives until the connection is over. */
async function heardUntilCut(socket: Socket, text: string): Promise<string> {
  let heard = "";
  socket.on("data", (chunk) => (heard += chunk));
  socket.on("error", () => undefined);
  socket.write(text);
  await closeOf(socket);
  return heard;
}

/** However it ended: `once()` would reject at the reset that these tests are about. */
const closeOf = (socket: Socket): Promise<void> => new Promise((resolve) => socket.on("close", () => resolve()));

test("without a cut everything gets through", async () => {
  const socket = await connected();
  socket.write("hello");
  expect(String((await once(socket, "data"))[0])).toBe("hello");
  expect(proxy.forwarded).toEqual({ "to server": 5, "to client": 5 });
  socket.destroy();
});

test.each([0, 1, 3, 4])("a cut after %i bytes to the server lets exactly those through", async (bytes) => {
  const cut = proxy.cutAfter({ direction: "to server", bytes });
  await heardUntilCut(await connected(), "hello");
  expect(cut.fired).toBe(true);
  expect(received).toBe("hello".slice(0, bytes));
});

test.each([0, 1, 4])("a cut after %i bytes to the client lets the request through, and those", async (bytes) => {
  const cut = proxy.cutAfter({ direction: "to client", bytes });
  expect(await heardUntilCut(await connected(), "hello")).toBe("hello".slice(0, bytes));
  expect(cut.fired).toBe(true);
  expect(received).toBe("hello");
});

test("a cut counts from the moment it is armed, and the next connection works", async () => {
  const socket = await connected();
  socket.write("before");
  await once(socket, "data");
  const cut = proxy.cutAfter({ direction: "to server", bytes: 2 });
  await heardUntilCut(socket, "after");
  expect([cut.fired, received]).toEqual([true, "beforeaf"]);
  const next = await connected();
  next.write("again");
  expect(String((await once(next, "data"))[0])).toBe("again");
  next.destroy();
});

test("what is swallowed is lost silently", async () => {
  proxy.swallow("to client");
  const socket = await connected();
  let heard = 0;
  socket.on("data", () => heard++);
  socket.on("error", () => undefined);
  socket.write("hello");
  while (received !== "hello") await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([heard, socket.destroyed]).toEqual([0, false]);
  proxy.restore();
  await closeOf(socket);
});

test("a server that is refused cannot be reached until it is restored", async () => {
  const before = await connected();
  before.on("error", () => undefined);
  const ended = closeOf(before);
  proxy.refuse();
  await ended;
  expect(await heardUntilCut(connect(proxy.port, proxy.host), "hello")).toBe("");
  proxy.restore();
  const after = await connected();
  after.write("hello");
  expect(String((await once(after, "data"))[0])).toBe("hello");
  after.destroy();
});
