import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseCheckpointSaver, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { type CheckpointMetadata, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import { copyGraphThreads, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { FaultyLog } from "../../src/testing/faulty-log.ts";
import { collectGarbage } from "../collect-garbage.ts";
import { failureOf } from "../failure-of.ts";
import { localPlace } from "../saver/saver-places.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { askFor } from "../services/with-service.ts";
import { betterSqlite3Loads } from "../sqlite/better-sqlite3-loads.ts";
import { SCENARIOS } from "./graph-scenarios.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-moving-"));
afterAll(() => rm(folder, { recursive: true }));
const answer = await askFor("postgres");
const postgres = "url" in answer ? postgresPlace(answer.url) : undefined;
afterAll(() => postgres?.dispose());

const theirs = (): SqliteSaver => SqliteSaver.fromConnString(join(folder, "theirs.db"));

const SOURCES: readonly (readonly [string, () => Promise<BaseCheckpointSaver>])[] = [
  // Their saver needs better-sqlite3.
  ...(betterSqlite3Loads ? [["SqliteSaver", async () => theirs()] as const] : []),
  ["MemorySaver", async () => new MemorySaver()],
  ...(postgres === undefined
    ? []
    : [
        [
          "PostgresSaver",
          async () => {
            const saver = PostgresSaver.fromConnString(postgres.url, { schema: postgres.schema });
            await saver.setup();
            return saver;
          },
        ] as const,
      ]),
];

describe.each(SOURCES)("threads that LangGraph's %s wrote", (name, open) => {
  test("are copied whole, with namespaces and pending writes, compared, and go on", async () => {
    const source = await open();
    for (const { run } of SCENARIOS) await run(source);
    const place = await localPlace("sqlite");
    const target = toLangGraphSaver(place.open());
    const copied: string[] = [];
    const report = await copyGraphThreads(source, target, { onThread: (threadId) => copied.push(threadId) });
    expect(copied.sort()).toEqual(["agent", "fork", "loop", "mut", "par", "send", "sub"]);
    expect(report.threads).toBe(7);
    let listed = 0;
    for await (const _ of source.list({})) listed++;
    expect(report.checkpoints).toBe(listed);
    const nothingLeft = { threads: 0, checkpoints: 0, thereAlready: 7, skipped: [] };
    expect(await copyGraphThreads(source, target)).toEqual(nothingLeft);
    const again = await SCENARIOS[0]?.run(target);
    expect(again, `${name}: the thread goes on`).toBeDefined();
    await place.cleanup();
    if (source instanceof PostgresSaver) await source.end();
  });
});

test("of a source that lists ten where no limit is given, all is copied", async () => {
  class Listing extends MemorySaver {
    override async *list(...[config, options]: Parameters<MemorySaver["list"]>): ReturnType<MemorySaver["list"]> {
      yield* super.list(config, { limit: 10, ...options });
    }
  }
  const source = new Listing();
  for (const { run } of SCENARIOS) await run(source);
  const place = await localPlace("memory");
  const report = await copyGraphThreads(source, toLangGraphSaver(place.open()));
  let listed = 0;
  for await (const _ of source.list({}, { limit: 10_000 })) listed++;
  expect(listed).toBeGreaterThan(10);
  expect(report).toEqual({ threads: 7, checkpoints: listed, thereAlready: 0, skipped: [] });
  await place.cleanup();
});

test.runIf(betterSqlite3Loads)(
  "threads that LangGraph 0.2 stored, with messages in their metadata, are copied, proven and go on",
  async () => {
    const path = join(folder, "old.db");
    await copyFile(new URL("stored-by-0.2/threads.db", import.meta.url), path);
    const source = SqliteSaver.fromConnString(path);
    const place = await localPlace("sqlite");
    const target = toLangGraphSaver(place.open());
    const report = await copyGraphThreads(source, target);
    expect(report).toMatchObject({ threads: 3, skipped: [] });
    expect(await copyGraphThreads(source, target)).toMatchObject({ threads: 0, thereAlready: 3, skipped: [] });
    const written: unknown[] = [];
    for await (const { metadata } of target.list({ configurable: { thread_id: "chat" } })) {
      written.push((metadata as { writes?: unknown }).writes);
    }
    expect(JSON.stringify(written)).toContain("answer 1");
    const chat = new StateGraph(MessagesAnnotation)
      .addNode("answer", ({ messages }) => ({ messages: [new AIMessage(`answer ${messages.length}`)] }))
      .addEdge(START, "answer")
      .compile({ checkpointer: target });
    const { messages } = await chat.invoke(
      { messages: [new HumanMessage("four")] },
      { configurable: { thread_id: "chat" } },
    );
    expect(messages.map(({ content }) => content)).toEqual([
      ...["one", "answer 1", "two", "answer 3", "three", "answer 5", "four", "answer 7"],
    ]);
    expect(await copyGraphThreads(source, target), "what has gone on is left alone").toMatchObject({
      ...{ threads: 0, thereAlready: 3, skipped: [] },
    });
    await place.cleanup();
  },
);

describe("a move", () => {
  const threadsOf = async (saver: BaseCheckpointSaver): Promise<readonly string[]> => {
    const seen: string[] = [];
    for await (const { config, checkpoint, pendingWrites } of saver.list({}, { limit: 10_000 })) {
      seen.push(`${config.configurable?.["thread_id"]} ${checkpoint.id} ${pendingWrites?.length}`);
    }
    return seen.sort();
  };
  const filled = async (): Promise<MemorySaver> => {
    const source = new MemorySaver();
    for (const { run } of SCENARIOS.slice(0, 5)) await run(source);
    return source;
  };

  test("that dies after any number of writes is taken up by the next one, and nothing is mixed or doubled", async () => {
    const source = await filled();
    const expected = await threadsOf(source);
    const log = new MemoryLog();
    let left = 0;
    // Each other write dies with its answer lost: it is there, and the process never knew.
    let when: "before" | "after" = "before";
    const dying = new FaultyLog(log, {
      faultAt: ({ method }) => (method === "append" && left-- <= 0 ? { when } : undefined),
    });
    let [deaths, isDone] = [0, false];
    for (; !isDone; deaths++) {
      left = 2 + (deaths % 2);
      when = deaths % 3 === 0 ? "after" : "before";
      const target = toLangGraphSaver(new Checkpointer(new PrefixLog(dying, ""), { retry: { attempts: 1 } }));
      const report = await copyGraphThreads(source, target).catch(() => undefined);
      isDone = report !== undefined;
    }
    expect(deaths).toBeGreaterThan(5);
    const target = toLangGraphSaver(new Checkpointer(log));
    expect(await threadsOf(target)).toEqual(expected);
    expect((await copyGraphThreads(source, target)).threads).toBe(0);
  });

  test("leaves out threads that cannot be copied, names them and why, and copies the others", async () => {
    const source = await filled();
    const [first = "", second = ""] = [...new Set((await threadsOf(source)).map((line) => line.split(" ")[0] ?? ""))];
    const metadata = { source: "input", step: 0, parents: {} } as const;
    const put = (saver: BaseCheckpointSaver, thread_id: string, value: unknown) =>
      saver.put(
        { configurable: { thread_id, checkpoint_ns: "" } },
        { ...emptyCheckpoint(), channel_values: { value } },
        metadata,
        { value: 1 },
      );
    const target = toLangGraphSaver(new Checkpointer(new MemoryLog()));
    await put(target, first, "another thread");
    const getTuple = source.getTuple.bind(source);
    source.getTuple = async (config) => {
      if (config.configurable?.["thread_id"] === second) throw new SyntaxError("Unexpected end of JSON input");
      return getTuple(config);
    };
    const report = await copyGraphThreads(source, target);
    expect(report.skipped).toEqual([
      { threadId: first, code: "CONFLICT", message: expect.stringContaining("it is not this one") },
      {
        threadId: second,
        code: "CORRUPT",
        message: expect.stringContaining(`"${second}" cannot be read from the source`),
      },
    ]);
    expect(report.threads).toBeGreaterThan(0);
    const outage = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    source.getTuple = () => Promise.reject(outage);
    expect(
      await failureOf(() => copyGraphThreads(source, toLangGraphSaver(new Checkpointer(new MemoryLog())))),
    ).toMatchObject({
      code: "UNAVAILABLE",
    });
  });

  test("keeps a BigInt, and names the thread of one that it cannot keep", async () => {
    const source = toLangGraphSaver(new Checkpointer(new MemoryLog()));
    const metadata = { source: "input", step: 0, parents: {} } as const;
    const at = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } });
    for (const [threadId, value] of [
      ["big", 2n ** 70n],
      ["small", 1],
    ] as const) {
      await source.put(
        at(threadId),
        { ...emptyCheckpoint(), channel_values: { value } },
        { ...metadata, value } as CheckpointMetadata,
        { value: 1 },
      );
    }
    const target = toLangGraphSaver(new Checkpointer(new MemoryLog()));
    expect(await copyGraphThreads(source, target)).toMatchObject({ threads: 2, skipped: [] });
    expect((await target.getTuple(at("big")))?.checkpoint.channel_values).toEqual({ value: 2n ** 70n });
    const memory = new MemorySaver();
    await memory.put(at("message"), emptyCheckpoint(), metadata);
    const getTuple = memory.getTuple.bind(memory);
    memory.getTuple = async (config) => {
      const tuple = await getTuple(config);
      const message = new HumanMessage({ content: "x", additional_kwargs: { count: 1n } });
      return tuple && { ...tuple, checkpoint: { ...tuple.checkpoint, channel_values: { message } } };
    };
    expect((await copyGraphThreads(memory, target)).skipped).toEqual([
      { threadId: "message", code: "INVALID_ARGUMENT", message: expect.stringContaining("BigInt") },
    ]);
  });

  test("holds a few states at once, however many steps a thread has", async () => {
    const source = new MemorySaver();
    let config: RunnableConfig = { configurable: { thread_id: "long", checkpoint_ns: "" } };
    for (let step = 0; step < 60; step++) {
      const messages = Array.from(
        { length: step },
        (_, at) => new HumanMessage({ id: `${at}`, content: `line ${at}` }),
      );
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages } };
      config = await source.put(config, checkpoint, { source: "loop", step, parents: {} });
    }
    const read: WeakRef<object>[] = [];
    const held: number[] = [];
    const getTuple = source.getTuple.bind(source);
    source.getTuple = async (at) => {
      const tuple = await getTuple(at);
      if (tuple !== undefined) read.push(new WeakRef(tuple.checkpoint.channel_values["messages"] as object));
      if (read.length % 20 === 0) {
        await setImmediate();
        collectGarbage();
        held.push(read.filter((state) => state.deref() !== undefined).length);
      }
      return tuple;
    };
    const target = toLangGraphSaver(new Checkpointer(new MemoryLog()));
    expect((await copyGraphThreads(source, target)).checkpoints).toBe(60);
    expect((await copyGraphThreads(source, target)).thereAlready).toBe(1);
    expect(held).toHaveLength(6);
    expect(Math.max(...held)).toBeLessThan(5);
  });

  test.runIf(betterSqlite3Loads)(
    "asks SqliteSaver for one checkpoint at a time, and never for a list of states",
    async () => {
      const source = theirs();
      await SCENARIOS[0]?.run(source);
      source.list = () => {
        throw new Error("a list holds every state at once");
      };
      const report = await copyGraphThreads(source, toLangGraphSaver(new Checkpointer(new MemoryLog())));
      expect([report.threads > 0, report.skipped]).toEqual([true, []]);
    },
  );
});
