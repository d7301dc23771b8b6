import { HumanMessage } from "@langchain/core/messages";
import { DeltaSnapshot, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { copyGraphThreads, LangGraphSaver, LangGraphStore, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { CheckpointSaver } from "../../src/saver/checkpoint-saver.ts";

const META = { source: "loop" as const, step: 0, parents: {} };
const COUNTED = [
  "append",
  "readTail",
  "readCheckpoint",
  "readRecords",
  "entry",
  "tail",
  "list",
  "listThreads",
] as const;

/** A log that notes what is asked of it. */
function countingLog(): { readonly log: ThreadLog; readonly calls: string[] } {
  const log = new MemoryLog();
  const calls: string[] = [];
  for (const method of COUNTED) {
    const original = log[method].bind(log) as (...given: unknown[]) => Promise<unknown>;
    Object.assign(log, {
      [method]: (...given: unknown[]) => {
        calls.push(method);
        return original(...given);
      },
    });
  }
  return { log, calls };
}

const config = (checkpoint_id?: string, checkpoint_ns = "") => ({
  configurable: { thread_id: "t", checkpoint_ns, ...(checkpoint_id !== undefined && { checkpoint_id }) },
});

interface Put {
  readonly values: Record<string, unknown>;
  readonly versions: Record<string, number>;
  readonly changed?: Record<string, number>;
  readonly parent?: string;
  readonly ns?: string;
  readonly metadata?: object;
}

const put = (saver: LangGraphSaver, id: string, { values, versions, changed, parent, ns, metadata }: Put) =>
  saver.put(
    config(parent, ns),
    { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions },
    { ...META, ...metadata },
    changed ?? versions,
  );

const valuesOf = async (saver: LangGraphSaver, id?: string) =>
  (await saver.getTuple(config(id)))?.checkpoint.channel_values;

const opened = (log: ThreadLog, slackBytes?: number): LangGraphSaver =>
  toLangGraphSaver(new CheckpointSaver({ log, ...(slackBytes !== undefined && { slackBytes }) }));

describe("what a prototype stumbled over", () => {
  test("the head of a thread is the newest checkpoint of the root, whatever was written last", async () => {
    const log = new MemoryLog();
    const saver = opened(log);
    await put(saver, "c5", { values: { a: 1 }, versions: { a: 1 } });
    await put(saver, "c9", { values: { a: 1 }, versions: { a: 1 }, ns: "sub" });
    await put(saver, "c2", { values: { a: 0 }, versions: { a: 1 } });
    await saver.putWrites(config("c2"), [["a", 1]], "late");
    const { items } = await log.listThreads({ prefix: "", limit: 10 });
    expect(items.filter(isReadable).map(({ threadId, head }) => [threadId, head.checkpointId])).toEqual([["t", "c5"]]);
    expect((await log.list("t", { limit: 10 })).map(({ checkpointId }) => checkpointId)).toEqual([
      "c2",
      "/sub/c9",
      "c5",
    ]);
  });

  test("a copy that names another parent has its values, though newVersions is empty", async () => {
    const saver = opened(new MemoryLog());
    await put(saver, "c1", { values: { a: [1] }, versions: { a: 1 } });
    await put(saver, "c2", { values: { a: [1, 2] }, versions: { a: 2 }, parent: "c1" });
    await put(saver, "c3", { values: { a: [1, 2] }, versions: { a: 2 }, changed: {}, parent: "c1" });
    expect(await valuesOf(saver, "c3")).toEqual({ a: [1, 2] });
  });

  test("a channel with a new version and without a value is gone; one that is not handed over is inherited", async () => {
    const saver = opened(new MemoryLog());
    await put(saver, "c1", { values: { a: "kept", b: "goes" }, versions: { a: 1, b: 1 } });
    await put(saver, "c2", { values: {}, versions: { a: 1, b: 2 }, changed: { b: 2 }, parent: "c1" });
    expect(await valuesOf(saver, "c2")).toEqual({ a: "kept" });
  });

  test("what is inherited is found behind a base, too", async () => {
    const saver = opened(new MemoryLog(), 0);
    const filler = (n: number) => Array.from({ length: 30 }, (_, index) => `${n} ${index} ${"x".repeat(100)}`);
    await put(saver, "c10", {
      values: { a: ["kept, and long enough to be shared by others"], f: filler(0) },
      versions: { a: 1, f: 1 },
    });
    for (let n = 11; n < 40; n++) {
      await put(saver, `c${n}`, { values: { f: filler(n) }, versions: { f: n }, parent: `c${n - 1}` });
    }
    await put(saver, "c40", { values: {}, versions: { a: 1 }, changed: {}, parent: "c10" });
    expect(await valuesOf(saver, "c40")).toEqual({ a: ["kept, and long enough to be shared by others"] });
  });

  test("a channel that was changed in place and is not in newVersions is stored as it is", async () => {
    const saver = opened(new MemoryLog());
    const box = [{ text: "as it was in the beginning, and long enough to be shared" }];
    await put(saver, "c1", { values: { box, n: 1 }, versions: { box: 1, n: 1 } });
    (box[0] as { text: string }).text = "changed in place, and long enough to be shared as well";
    await put(saver, "c2", { values: { box, n: 2 }, versions: { box: 1, n: 2 }, changed: { n: 2 }, parent: "c1" });
    expect(await valuesOf(saver, "c2")).toEqual({ box, n: 2 });
    expect((await valuesOf(saver, "c1"))?.["box"]).not.toEqual(box);
  });

  test("a list shows messages whole, also those that two channels and a write share", async () => {
    const saver = opened(new MemoryLog());
    const messages = Array.from({ length: 5 }, (_, n) => new HumanMessage({ content: `message ${n}`, id: String(n) }));
    const same = [...messages];
    await put(saver, "c1", { values: { m: messages, same }, versions: { m: 1, same: 1 } });
    await saver.putWrites(config("c1"), [["m", messages.slice(0, 2)]], "task");
    for await (const { checkpoint, pendingWrites = [] } of saver.list(config())) {
      const { m, same: also } = checkpoint.channel_values as Record<string, HumanMessage[]>;
      const seen = [m, also, pendingWrites[0]?.[2]] as HumanMessage[][];
      expect(seen.map((list) => list.length)).toEqual([5, 5, 2]);
      for (const message of seen.flat()) expect(message).toBeInstanceOf(HumanMessage);
    }
  });

  test("a list honours a checkpoint id", async () => {
    const saver = opened(new MemoryLog());
    for (const id of ["c1", "c2"]) await put(saver, id, { values: {}, versions: {} });
    const found = [];
    for await (const { checkpoint } of saver.list(config("c1"))) found.push(checkpoint.id);
    expect(found).toEqual(["c1"]);
  });

  test("a storage that fails for a moment is tried again before a put rejects", async () => {
    const log = new MemoryLog();
    let failures = 2;
    const append = log.append.bind(log);
    log.append = async (...given) => {
      if (failures-- > 0) throw Object.assign(new Error("gone for a moment"), { code: "ECONNRESET" });
      return append(...given);
    };
    log.classify = () => "UNAVAILABLE" as unknown as undefined;
    const saver = opened(log);
    await put(saver, "c1", { values: { a: 1 }, versions: { a: 1 } });
    expect(await valuesOf(saver)).toEqual({ a: 1 });
  });
});

describe("round trips", () => {
  test("a put and a write of a thread that is known are one append each, and together one", async () => {
    const { log, calls } = countingLog();
    const saver = opened(log);
    await put(saver, "c1", { values: { m: [new HumanMessage("hi")] }, versions: { m: 1 } });
    calls.length = 0;
    await Promise.all([
      saver.putWrites(config("c1"), [["m", ["x"]]], "task"),
      put(saver, "c2", { values: { m: ["x"] }, versions: { m: 2 }, parent: "c1" }),
    ]);
    expect(calls).toEqual(["append"]);
  });

  test("a checkpoint with its writes is read in one, new or old, warm or cold", async () => {
    const { log, calls } = countingLog();
    const saver = opened(log);
    for (let n = 10; n < 60; n++) {
      await put(saver, `c${n}`, {
        values: { m: [`${n}`] },
        versions: { m: n },
        ...(n > 10 && { parent: `c${n - 1}` }),
      });
      await saver.putWrites(config(`c${n}`), [["m", n]], "task");
    }
    for (const reader of [saver, opened(log)]) {
      for (const id of [undefined, "c59", "c10", "c30"]) {
        calls.length = 0;
        expect((await reader.getTuple(config(id)))?.pendingWrites).toHaveLength(1);
        expect(calls, String(id)).toHaveLength(1);
      }
    }
  });

  test("a list reads no bodies until it is looked at, and then one range", async () => {
    const { log, calls } = countingLog();
    const saver = new CheckpointSaver({ log });
    for (const checkpointId of ["c1", "c2", "c3"])
      await saver.put({ threadId: "t", checkpointId, checkpointData: { at: checkpointId } });
    calls.length = 0;
    const cold = new CheckpointSaver({ log });
    const listed = await cold.listCheckpoints({ threadId: "t" });
    expect(calls).toEqual(["list"]);
    for (const each of listed) expect((await each.load())?.checkpointData).toEqual({ at: each.checkpointId });
    expect(calls).toEqual(["list", "readTail"]);
  });

  test("a delta channel of two hundred steps is read in at most four, and pruning keeps what it needs", async () => {
    const { log, calls } = countingLog();
    const saver = opened(log);
    await put(saver, "c100", { values: { m: new DeltaSnapshot(["first"]) }, versions: { m: 1 } });
    for (let n = 101; n < 300; n++) {
      await saver.putWrites(config(`c${n - 1}`), [["m", [`${n}`]]], "task");
      const metadata = { counters_since_delta_snapshot: { m: [n - 100, n - 100] } };
      await put(saver, `c${n}`, { values: {}, versions: { m: n }, changed: {}, parent: `c${n - 1}`, metadata });
    }
    const cold = opened(log);
    calls.length = 0;
    const { m } = await cold.getDeltaChannelHistory({ config: config("c299"), channels: ["m"] });
    expect(m?.writes).toHaveLength(199);
    expect(calls.length).toBeLessThanOrEqual(4);
    expect(await (await cold.saver()).prune({ threadId: "t", keepLast: 1 })).toEqual({ threads: 0, checkpoints: 0 });
    const after = await cold.getDeltaChannelHistory({ config: config("c299"), channels: ["m"] });
    expect(after["m"]?.writes).toHaveLength(199);
  });
});

describe("size", () => {
  test("a channel of 10 MB, and a thousand namespaces in a thread, are stored exactly", async () => {
    const saver = new CheckpointSaver({ log: new MemoryLog() });
    const big = "é".repeat(5 * 1024 * 1024);
    await saver.put({ threadId: "big", checkpointId: "c1", checkpointData: { values: { big } } });
    expect((await saver.get({ threadId: "big" }))?.checkpointData).toEqual({ values: { big } });
    const shared = Array.from({ length: 20 }, (_, n) => `message ${n}, long enough to be shared by all of them`);
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) =>
        saver.put({
          threadId: "wide",
          checkpointNs: `node:${n}`,
          checkpointId: `c${n}`,
          checkpointData: { values: { shared, n } },
        }),
      ),
    );
    for (const n of [0, 1, 499, 999]) {
      const found = await saver.get({ threadId: "wide", checkpointNs: `node:${n}` });
      expect(found?.checkpointData).toEqual({ values: { shared, n } });
    }
    expect(await saver.listCheckpoints({ threadId: "wide" })).toHaveLength(1000);
  });
});

describe("a mistake that is made every day says what to write instead", () => {
  const url: unknown = "memory:";
  const target = toLangGraphSaver("memory:");
  const wrong: readonly [how: string, make: () => unknown, says: RegExp][] = [
    ["new LangGraphSaver(url)", () => new LangGraphSaver(url as never), /write toLangGraphSaver\(…\)/],
    ["new LangGraphStore(url)", () => new LangGraphStore(url as never, {} as never), /write toLangGraphStore\(…\)/],
    [
      "toLangGraphSaver()",
      () => toLangGraphSaver(undefined as never),
      /takes a CheckpointSaver, a Checkpointer or a URL.*not undefined/,
    ],
    [
      "a misspelt option",
      () => toLangGraphSaver("memory:", { serd: {} } as never),
      /no option "serd"; did you mean "serde"/,
    ],
    [
      "copyGraphThreads()",
      () => copyGraphThreads(undefined as never, undefined as never),
      /to read from, then the one/,
    ],
    ["the wrong way round", () => copyGraphThreads(target, { list: () => [] } as never), /to read from, then the one/],
    [
      "a misspelt threadIds",
      () => copyGraphThreads(target, target, { threadId: ["a"] } as never),
      /no option "threadId"; did you mean "threadIds"/,
    ],
  ];
  test.each(wrong)("%s", async (_how, make, says) => {
    await expect(async () => make()).rejects.toThrow(says);
  });
});
