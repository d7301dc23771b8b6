import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

test("a run is awaited for its result", async () => {
  expect(await agentOf({ model: scriptedModel(["hi"]) }).run("hello")).toMatchObject({ text: "hi" });
});

test("a run is iterated for its events, from the first to the last", async () => {
  const events = await eventsOf(agentOf({ model: scriptedModel(["hi"]) }).run("hello"));
  expect(events.map(({ type }) => type)).toEqual(["run-start", "iteration-start", "model-delta", "message", "run-end"]);
});

test("run-start says whether the thread was there, run-end says why it ended", async () => {
  const store = new MemoryStore();
  for (const continued of [false, true]) {
    const agent = agentOf({ model: scriptedModel(["hi"]), checkpointer: store.open() });
    const events = await eventsOf(agent.run("hello", { threadId: "t" }));
    expect(events[0]).toMatchObject({ type: "run-start", threadId: "t", continued });
    expect(events.at(-1)).toEqual({ type: "run-end", stopReason: "complete" });
  }
});

test("a run that is both iterated and awaited runs once", async () => {
  const model = scriptedModel(["hi"]);
  const run = agentOf({ model }).run("hello");
  const [events, result, again] = await Promise.all([eventsOf(run), run, run]);
  expect(events.at(-1)).toMatchObject({ type: "run-end" });
  expect(result).toBe(again);
  expect(model.requests).toHaveLength(1);
});

test("two iterations, also one that begins after the end, see the same events", async () => {
  const run = agentOf({ model: scriptedModel(["one two three"]) }).run("hello");
  const [first, second] = await Promise.all([eventsOf(run), eventsOf(run)]);
  expect(second).toEqual(first);
  expect(await eventsOf(run)).toEqual(first);
});

test("events come while the run goes on, not after it", async () => {
  const go = gate();
  const model = scriptedModel([
    async () => {
      await go.opened;
      return "hi";
    },
  ]);
  const run = agentOf({ model }).run("hello");
  const seen: string[] = [];
  for await (const { type } of run) {
    seen.push(type);
    if (type === "iteration-start") go.open();
  }
  expect(seen.at(-1)).toBe("run-end");
});

test("leaving the iteration early does not stop the run", async () => {
  const store = new MemoryStore();
  const run = agentOf({ model: scriptedModel(["hi"]), checkpointer: store.open() }).run("hello", { threadId: "t" });
  for await (const _ of run) break;
  expect(await run).toMatchObject({ text: "hi", stopReason: "complete" });
  expect(await store.lines()).toEqual(["user: hello", "assistant: hi"]);
});

test("a run goes on although nothing awaits it", async () => {
  const store = new MemoryStore();
  const done = gate();
  const hooks = { afterRun: done.open };
  void agentOf({ model: scriptedModel(["hi"]), checkpointer: store.open(), hooks })
    .run("hello", { threadId: "t" })
    .catch(() => undefined);
  await done.opened;
  expect(await store.lines()).toEqual(["user: hello", "assistant: hi"]);
});

describe("a run that fails", () => {
  test("fails for callers that await it and for callers that iterate it", async () => {
    const run = agentOf({ model: scriptedModel([new Error("no")]) }).run("hello");
    const iterate = async (): Promise<void> => {
      for await (const _ of run);
    };
    expect((await failureOf(() => run)).message).toBe("no");
    expect((await failureOf(iterate)).message).toBe("no");
  });

  test("gives its events first", async () => {
    const events = await eventsOf(agentOf({ model: scriptedModel([new Error("no")]) }).run("hello"));
    expect(events.map(({ type }) => type)).toEqual(["run-start", "iteration-start"]);
  });

  test("is an unhandled rejection of the process when nothing awaits it", async () => {
    const program = fileURLToPath(new URL("./unheard-failure.ts", import.meta.url));
    const child = fork(program, { execArgv: ["--import", "tsx"], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    let written = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      written += chunk.toString();
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, written: written.includes("unhandled failure") }).toEqual({ code: 1, written: true });
  });
});
