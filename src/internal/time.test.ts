import { getEventListeners, once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { turnsPass } from "../../test/turns-of-the-loop.ts";
import { endOfLongTurn, lateAfter, sleep, withDeadline } from "./time.ts";

test("it resolves", async () => {
  expect(await sleep(1)).toBeUndefined();
});

test("a signal that is aborted already rejects with its reason and waits for nothing", async () => {
  const reason = new Error("no longer needed");
  await expect(sleep(600_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test("a signal that aborts meanwhile rejects with its reason", async () => {
  const controller = new AbortController();
  const slept = sleep(600_000, controller.signal);
  controller.abort("enough");
  await expect(slept).rejects.toBe("enough");
});

test("a signal used for many naps keeps no listener of those that ended", async () => {
  const { signal } = new AbortController();
  for (let nap = 0; nap < 3; nap++) await sleep(1, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

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

test("what is done in time is returned, and its signal never aborts", async () => {
  let seen: AbortSignal | undefined;
  const result = await withDeadline(10, undefined, async (signal) => {
    seen = signal;
    return "done";
  });
  await sleep(30);
  expect([result, seen?.aborted]).toEqual(["done", false]);
});

test("what takes longer is aborted with a TimeoutError", async () => {
  const work = withDeadline(5, undefined, (signal) => sleep(60_000, signal));
  await expect(work).rejects.toMatchObject({ name: "TimeoutError" });
});

test("an outer signal aborts it, before or while it runs, with its own reason", async () => {
  const outer = new AbortController();
  const work = withDeadline(60_000, outer.signal, (signal) => sleep(60_000, signal));
  outer.abort(new Error("enough"));
  await expect(work).rejects.toThrow("enough");
  await expect(withDeadline(60_000, outer.signal, (signal) => sleep(60_000, signal))).rejects.toThrow("enough");
});

test("a loop of awaits that never really waits still lets timers fire", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const giveUp = performance.now() + 60_000;
  while (ticks < 3 && performance.now() < giveUp) {
    const pause = endOfLongTurn();
    if (pause !== undefined) await pause;
    await undefined;
  }
  clearInterval(timer);
  expect(ticks).toBe(3);
});

test("a turn that has just begun is not ended", async () => {
  await new Promise((resolve) => setImmediate(resolve));
  expect(endOfLongTurn()).toBeUndefined();
});
