import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { turnsPass } from "../../test/turns-of-the-loop.ts";
import { lateAfter } from "./late-after.ts";

/** A server in a thread of its own: it answers while the thread of the test stands still. */
const SERVER = `
const { parentPort, workerData } = require("node:worker_threads");
const server = require("node:net").createServer((socket) => {
  socket.on("data", () => socket.write("answer", () => { Atomics.store(workerData, 0, 1); Atomics.notify(workerData, 0); }));
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

test("an answer that arrived while the process was held up past its time is read, and not given up", async () => {
  const answered = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(SERVER, { eval: true, workerData: answered });
  const [port] = await once(worker, "message");
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const outcome = new Promise<string>((resolve) => {
    const stop = lateAfter(5, () => resolve("given up"));
    socket.once("data", (data) => {
      stop();
      resolve(String(data));
    });
  });
  await new Promise<void>((resolve) => {
    socket.write("question", () => {
      Atomics.wait(answered, 0, 0);
      Atomics.wait(answered, 1, 0, 20);
      resolve();
    });
  });
  expect(await outcome).toBe("answer");
  socket.destroy();
  await worker.terminate();
});

test("where nothing arrives it is called, once", async () => {
  let calls = 0;
  await new Promise<void>((resolve) => {
    lateAfter(5, () => {
      calls++;
      resolve();
    });
  });
  await turnsPass();
  expect(calls).toBe(1);
});

test("what was stopped is never called, also when its time has come", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let calls = 0;
  const stop = lateAfter(5, () => calls++);
  vi.advanceTimersByTime(5);
  stop();
  await turnsPass();
  expect(calls).toBe(0);
});
