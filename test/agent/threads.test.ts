import { describe, expect, test } from "vitest";
import { type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { textOf } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { AlteredLog } from "../altered-log.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

test("without a thread id nothing is saved, whatever the checkpointer", async () => {
  const store = new MemoryStore();
  const work = tool({ name: "work", execute: () => "done" });
  const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
  const run = agentOf({ model, checkpointer: store.open(), tools: [work] }).run("go");
  expect(ofType(await eventsOf(run), "checkpoint-saved")).toEqual([]);
  expect(await run).toMatchObject({ text: "ready", checkpointId: undefined });
  expect(await store.open().listThreads()).toEqual([]);
});

test("without a checkpointer a run works and saves nothing", async () => {
  expect(await agentOf({ model: scriptedModel(["hi"]) }).run("hello", { threadId: "t" })).toMatchObject({ text: "hi" });
});

describe("metadata", () => {
  test("of each turn is merged into the thread's and found by it", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel(["a", "b"]), checkpointer: store.open() });
    await agent.run("one", { threadId: "t", metadata: { user: "ann", tries: 1 } });
    await agent.run("two", { threadId: "t", metadata: { tries: 2 } });
    expect((await store.state()).metadata).toEqual({ user: "ann", tries: 2 });
    const [found] = await store.open().queryByMetadata("tries", 2);
    expect(found).toMatchObject({ threadId: "t", metadata: { user: "ann", tries: 2 } });
  });

  test("of the run is what its tools see", async () => {
    let seen: ToolContext | undefined;
    const work = tool({
      name: "work",
      execute: (_, context) => {
        seen = context;
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]);
    await agentOf({ model, tools: [work] }).run("go", { threadId: "t", metadata: { user: 7 } });
    expect(seen).toMatchObject({ metadata: { user: 7 }, threadId: "t" });
  });
});

test("two runs of one agent at once, on two threads, do not mix", async () => {
  const store = new MemoryStore();
  const both = gate();
  let arrived = 0;
  const model = scriptedModel(
    Array.from({ length: 4 }, () => async ({ messages }) => {
      if (++arrived === 2) both.open();
      await both.opened;
      const name = textOf(messages[0]!);
      if (messages.length === 1) return { text: `wait, ${name}`, toolCalls: [{ name: "work" }] };
      return `bye ${name}`;
    }),
  );
  const owners: unknown[] = [];
  const work = tool({
    name: "work",
    execute: (_, { threadId, metadata }) => {
      owners.push([threadId, metadata["owner"]]);
      return threadId;
    },
  });
  const agent = agentOf({ model, checkpointer: store.open(), tools: [work] });
  const runs = ["ann", "bob"].map((name) => agent.run(name, { threadId: `t-${name}`, metadata: { owner: name } }));
  const [ann, bob] = await Promise.all(runs);
  for (const [name, result] of [
    ["ann", ann],
    ["bob", bob],
  ] as const) {
    const lines = [
      `user: ${name}`,
      `assistant: wait, ${name} (calls work)`,
      `tool: t-${name}`,
      `assistant: bye ${name}`,
    ];
    expect(await store.lines(`t-${name}`)).toEqual(lines);
    expect(result?.text).toBe(`bye ${name}`);
    expect(result?.state.metadata).toEqual({ owner: name });
  }
  expect(owners.sort()).toEqual([
    ["t-ann", "ann"],
    ["t-bob", "bob"],
  ]);
});

test("two runs of one thread at once, in two processes: one waits for the other, and both are answered", async () => {
  const store = new MemoryStore();
  await agentOf({ model: scriptedModel(["hello"]), checkpointer: store.open() }).run("hi", { threadId: "t" });
  const answers: ScriptStep = ({ messages }) => `answer ${textOf(messages.at(-1)!)}`;
  const runs = ["one", "two"].map((word) =>
    agentOf({ model: scriptedModel([answers, answers]), checkpointer: store.open() }).run(word, { threadId: "t" }),
  );
  const texts = await Promise.all(runs.map(async (run) => (await run).text));
  expect(texts).toEqual(["answer one", "answer two"]);
  const turns = ["one", "two"].map((word) => [`user: ${word}`, `assistant: answer ${word}`]);
  const lines = await store.lines();
  expect(lines.slice(0, 2)).toEqual(["user: hi", "assistant: hello"]);
  expect([turns.flat(), turns.toReversed().flat()]).toContainEqual(lines.slice(2));
});

test("two runs of one thread at once that want no lease: one of them gets CONFLICT, and nothing of the other is lost", async () => {
  const store = new MemoryStore();
  await agentOf({ model: scriptedModel(["hello"]), checkpointer: store.open() }).run("hi", { threadId: "t" });
  const both = gate();
  let loaded = 0;
  const beforeRun = (): Promise<void> => {
    if (++loaded === 2) both.open();
    return both.opened;
  };
  const runs = ["one", "two"].map((word) => {
    const model = scriptedModel([`answer ${word}`]);
    const agent = agentOf({ model, checkpointer: store.open(), lease: false, hooks: { beforeRun } });
    return agent.run(word, { threadId: "t" });
  });
  const outcomes = await Promise.allSettled(runs);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "CONFLICT" } });
  const won = outcomes[0]?.status === "fulfilled" ? "one" : "two";
  expect(await store.lines()).toEqual(["user: hi", "assistant: hello", `user: ${won}`, `assistant: answer ${won}`]);
});

describe("a thread that was written by a newer version", () => {
  const newer = async (): Promise<AlteredLog> => {
    const log = new AlteredLog();
    await agentOf({ model: scriptedModel(["hello"]), checkpointer: new MemoryStore(log).open() }).run("hi", {
      threadId: "t",
    });
    log.alter = (entry) => ({ ...entry, header: entry.header.replace('"format":1', '"format":99') });
    return log;
  };

  test("is refused as INCOMPATIBLE with what to do, and left as it is", async () => {
    const log = await newer();
    const model = scriptedModel(["?"]);
    const agent = agentOf({ model, checkpointer: new MemoryStore(log).open() });
    const failure = await failureOf(() => agent.run("more", { threadId: "t" }));
    expect(failure).toMatchObject({ code: "INCOMPATIBLE", message: expect.stringMatching(/pgrade/) });
    expect(model.requests).toHaveLength(0);
    log.alter = (entry) => entry;
    expect(await new MemoryStore(log).lines()).toEqual(["user: hi", "assistant: hello"]);
  });
});

test.each(["", "\u0000", "\ud800"])("the thread id %j is refused before anything happens", async (threadId) => {
  const model = scriptedModel(["?"]);
  const agent = agentOf({ model, checkpointer: new MemoryStore().open() });
  expect((await failureOf(() => agent.run("go", { threadId }))).code).toBe("INVALID_ARGUMENT");
  expect(model.requests).toHaveLength(0);
});
