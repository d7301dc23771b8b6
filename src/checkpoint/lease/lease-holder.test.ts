import { spawn } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { liveLeases, thisProcess } from "./lease-holder.ts";

const { mark, isGone, name } = thisProcess();
const [machine, pid, start, worker] = mark.split("/");
const isLinux = process.platform === "linux";

test("a lease of this process is over when its run is, and not before", () => {
  liveLeases().set("held", Promise.resolve());
  expect(isGone(mark, "held")).toBe(false);
  liveLeases().delete("held");
  expect(isGone(mark, "held")).toBe(true);
});

test("the name says which process it is", () => {
  expect(name).toMatch(new RegExp(`^process ${process.pid} on `));
});

test.runIf(isLinux)("a process that was killed is known to be dead, one that runs is known to be alive", async () => {
  const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"]);
  await once(child, "spawn");
  const { readFileSync } = await import("node:fs");
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
  const began = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  const childMark = `${machine}/${child.pid}/${began}/0`;
  expect(isGone(childMark, "any")).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isGone(childMark, "any")).toBe(true);
});

test.runIf(isLinux)("another process that got the number of a dead one is not taken for it", () => {
  expect(isGone(`${machine}/${process.ppid}/1/0`, "any")).toBe(true);
});

test("a holder on another machine, in another container or in another worker is not taken for dead", async () => {
  expect(isGone(`000000000000/${pid}/${start}/${worker}`, "any")).toBe(false);
  expect(isGone("no mark at all", "any")).toBe(false);
  expect(isGone(`${machine}/not a number/1/0`, "any")).toBe(false);
  expect(isGone(`${machine}/${pid}/${start}/99`, "any")).toBe(false);
});

test("the workers of a process have marks of their own", async () => {
  const worker = new Worker(
    "require('node:worker_threads').parentPort.postMessage(require('node:worker_threads').threadId)",
    {
      eval: true,
    },
  );
  const [threadId] = await once(worker, "message");
  expect(`${mark.slice(0, mark.lastIndexOf("/"))}/${threadId}`).not.toBe(mark);
  await worker.terminate();
});
