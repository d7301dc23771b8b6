import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast, NOW } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import { type CheckpointSaver, saverOf } from "../saver/checkpoint-saver.ts";
import { AgentState } from "../state/agent-state.ts";
import { userMessage } from "../state/message.ts";
import { withoutSecrets } from "./store-url.ts";
import { Bandwidth } from "./transfer/bandwidth.ts";
import { inJobs } from "./transfer/jobs.ts";

let store: FilledStore;
let to: string;
let source: Checkpointer;
let target: Checkpointer;
beforeEach(async () => {
  store = await filledStore("one");
  to = `sqlite:${store.directory}/new.db`;
  source = sqliteCheckpointer({ path: `${store.directory}/agents.db`, now: () => NOW });
  target = sqliteCheckpointer({ path: `${store.directory}/new.db` });
});
afterEach(async () => {
  await source.close();
  await target.close();
  await store.dispose();
});

const copy = async (...args: string[]) => {
  const { code, stdout, stderr } = await holdfast(["copy", store.url, to, "--json", ...args]);
  return { code, stderr, ...(stdout === "" ? {} : JSON.parse(stdout)) };
};

test("after --cut-over the source refuses saves and says where the thread is, and the target accepts them", async () => {
  const before = await hashedFiles(store.directory);
  expect(await copy("--cut-over", "--dry-run")).toMatchObject({ code: 0, copied: 1 });
  expect((await hashedFiles(store.directory))["agents.db"]).toBe(before["agents.db"]);
  const old = (await source.load("trip-1")) as AgentState;
  expect(await copy("--cut-over", "--freeze")).toMatchObject({ code: 0, copied: 1, verified: 1, stderr: "" });
  const more = old.withMessage(userMessage("more"));
  const refused = { code: "CONFLICT", message: expect.stringContaining(`was moved to ${to}`) };
  await expect(source.save(more, "trip-1")).rejects.toMatchObject(refused);
  const there = (await target.load("trip-1")) as AgentState;
  expect(there.toCheckpoint()).toEqual(old.toCheckpoint());
  await target.save(there.withMessage(userMessage("more")), "trip-1");
  expect(await copy("--cut-over")).toMatchObject({ code: 0, copied: 0, thereAlready: 1 });
  expect(await copy()).toMatchObject({ code: 3, failed: 1 });
  expect((await copy("--cut-over", "--verify", "none")).code).toBe(2);
});

test("what waits in a thread's mailbox goes along with --cut-over, and stays behind without", async () => {
  await source.send("trip-1", { message: "one" }, { id: "one" });
  await source.send("trip-1", { cancel: true }, { id: "two" });
  expect(await copy()).toMatchObject({ code: 0, copied: 1, verified: 1 });
  expect(await target.signals("trip-1")).toEqual([]);
  expect(await copy()).toMatchObject({ code: 0, copied: 0, thereAlready: 1 });
  expect(await copy("--cut-over")).toMatchObject({ code: 0 });
  expect(await target.signals("trip-1")).toMatchObject([
    { id: "one", message: { content: "one" } },
    { id: "two", kind: "cancel" },
  ]);
  const refused = { code: "CONFLICT", message: expect.stringContaining("was moved") };
  await expect(source.send("trip-1", { message: "late" })).rejects.toMatchObject(refused);
});

test("after --cut-over a graph's thread refuses checkpoints in the source and continues in the target", async () => {
  const put = (saver: CheckpointSaver, step: number) =>
    saver.put({
      threadId: "graph",
      checkpointId: `g${step}`,
      ...(step > 1 && { parentId: `g${step - 1}` }),
      checkpointData: { channel_values: { step, log: Array.from({ length: step }, (_, at) => `step ${at}`) } },
    });
  const [there, here] = [saverOf(source), saverOf(target)];
  for (const step of [1, 2, 3]) await put(there, step);
  expect(await copy("--cut-over", "--freeze")).toMatchObject({ code: 0, copied: 2, verified: 2, stderr: "" });
  const refused = { code: "CONFLICT", message: expect.stringContaining(`was moved to ${to}`) };
  await expect(put(there, 4)).rejects.toMatchObject(refused);
  await put(here, 4);
  expect((await here.get({ threadId: "graph" }))?.checkpointData).toMatchObject({ channel_values: { step: 4 } });
  expect(await copy("--cut-over")).toMatchObject({ code: 0, copied: 0, thereAlready: 2 });
});

test("a thread that is held under a lease is neither frozen nor moved, and is reported", async () => {
  await source.withLease(
    "trip-1",
    async () => {
      for (const args of [["--cut-over"], ["--freeze"]]) {
        expect(await copy(...args)).toMatchObject({ code: 3, failed: 1, stderr: expect.stringContaining("worker") });
      }
    },
    { owner: "worker", ttlMs: 600_000 },
  );
  await source.save(AgentState.create(), "trip-2");
  expect(await copy("--freeze")).toMatchObject({ code: 0, copied: 2 });
  expect(await source.leaseOf("trip-1")).toBe(undefined);
});

test("many jobs copy what one does, and every thread once", async () => {
  for (let at = 0; at < 30; at++) await source.save(AgentState.create().withMessage(userMessage(`${at}`)), `t${at}`);
  expect(await copy("--jobs", "8", "--bwlimit", "1G")).toMatchObject({
    code: 0,
    threads: 31,
    copied: 31,
    verified: 31,
  });
  expect((await target.listThreads({ limit: 100 })).length).toBe(31);
  for (const wrong of [
    ["--jobs", "0"],
    ["--jobs", "many"],
    ["--bwlimit", "fast"],
    ["--bwlimit", "0"],
  ]) {
    expect((await copy(...wrong)).code).toBe(2);
  }
});

test("what is copied stays below its bandwidth, over all jobs together", async () => {
  let now = 0;
  const pauses: number[] = [];
  const pause = async (ms: number) => {
    pauses.push(ms);
    now += ms;
  };
  const bandwidth = new Bandwidth(1000, () => now, pause);
  await bandwidth.took(500);
  now += 2000;
  await bandwidth.took(500);
  await bandwidth.took(2000);
  expect(pauses).toEqual([500, 500]);
});

test("after a failure of one job nothing new is begun, and what is under way is waited for", async () => {
  const begun: number[] = [];
  let ended = 0;
  const items = (async function* () {
    for (let at = 0; at < 100; at++) yield at;
  })();
  const work = async (at: number) => {
    begun.push(at);
    await new Promise((resolve) => setImmediate(resolve));
    ended++;
    if (at === 2) throw new Error("two");
  };
  await expect(inJobs(items, 4, work)).rejects.toThrow("two");
  expect([ended, begun.length < 12]).toEqual([begun.length, true]);
});

test("what the source says of the target holds nothing that opens it", () => {
  expect(withoutSecrets("postgres://ann:s3cret@db.example:5432/agents?schema=a")).toBe(
    "postgres://db.example:5432/agents?schema=a",
  );
  expect(withoutSecrets("https://:hf_token@state.example")).toBe("https://state.example");
  expect(withoutSecrets("sqlite:./a.db")).toBe("sqlite:./a.db");
});
