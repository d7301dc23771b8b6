import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { MOST_WAITING } from "../../src/checkpoint/signals/mailbox.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

const callsWork: ScriptStep = { toolCalls: [{ name: "work" }] };

/** An agent whose tool `work` is under way until it is let go, or its signal aborts. */
function busy(store: MemoryStore, steps: readonly ScriptStep[], options: object = {}) {
  const [begun, go] = [gate(), gate()];
  const aborted: unknown[] = [];
  const runtimes: unknown[] = [];
  const work = tool({
    name: "work",
    execute: async (_, { signal, runtime }) => {
      runtimes.push(runtime);
      begun.open();
      signal.addEventListener("abort", () => aborted.push(signal.reason));
      await Promise.race([go.opened, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      signal.throwIfAborted();
      return "done";
    },
  });
  const agent = agentOf({ model: scriptedModel(steps), checkpointer: store.open(), tools: [work], ...options });
  return { agent, begun: begun.opened, end: go.open, aborted, runtimes };
}

/** As another process that has nothing but the checkpointer. */
const elsewhere = (store: MemoryStore) => store.open();

const ids = async (store: MemoryStore) => (await store.open().signals("t")).map(({ id }) => id);

/** The run that is under way has looked into its mailbox since this was called. */
async function looked({ log }: MemoryStore): Promise<void> {
  await new Promise<void>((resolve) => {
    const original = log.readRecords;
    log.readRecords = async (...args) => {
      const found = await original.apply(log, args);
      log.readRecords = original;
      setImmediate(resolve);
      return found;
    };
  });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 400 && !(await isSo()); turn++) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("words", () => {
  test("from another process reach the run that is under way, in order, with their own metadata", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, [callsWork, "heard all"]);
    const run = agent.run("go", { threadId: "t" });
    await begun;
    const sender = elsewhere(store);
    await sender.send("t", { message: userMessage("and hurry", { metadata: { from: "phone" } }) }, { id: "one" });
    await sender.send("t", { message: "please" }, { id: "two" });
    await sender.send("t", { message: "please" }, { id: "two" });
    await looked(store);
    end();
    expect((await run).text).toBe("heard all");
    expect(await store.lines()).toEqual([
      "user: go",
      "assistant: (calls work)",
      "tool: done",
      "user: and hurry",
      "user: please",
      "assistant: heard all",
    ]);
    const said = (await store.state()).messages.filter(({ role }) => role === "user");
    expect(said.map(({ id, metadata }) => [id, metadata?.["from"]])).toEqual([
      [undefined, undefined],
      ["one", "phone"],
      ["two", undefined],
    ]);
    expect(await ids(store)).toEqual([]);
  });

  test("that no process runs the thread for wait for its next run, and come before that run's own", async () => {
    const store = new MemoryStore();
    const agent = agentOf({ model: scriptedModel(["hello", "both"]), checkpointer: store.open() });
    await agent.run("hi", { threadId: "t" });
    await elsewhere(store).send("t", { message: "first" }, { id: "one" });
    expect(await ids(store)).toEqual(["one"]);
    expect((await agent.run("second", { threadId: "t" })).text).toBe("both");
    expect((await store.lines()).slice(2)).toEqual(["user: first", "user: second", "assistant: both"]);
    expect(await ids(store)).toEqual([]);
  });

  test("are answered by a run without a prompt, and by recover", async () => {
    const store = new MemoryStore();
    const model = scriptedModel(["hello", "to one", "to two"]);
    const agent = agentOf({ model, checkpointer: store.open() });
    await agent.run("hi", { threadId: "t" });
    await elsewhere(store).send("t", { message: "one" });
    expect((await agent.run(undefined, { threadId: "t" })).text).toBe("to one");
    await elsewhere(store).send("t", { message: "two" });
    const report = await agent.recover({ olderThanMs: 0 });
    expect(report).toMatchObject({ recovered: [{ threadId: "t", stopReason: "complete" }], failed: [] });
    expect((await store.lines()).at(-1)).toBe("assistant: to two");
    expect((await agent.recover({ olderThanMs: 0 })).recovered).toEqual([]);
  });

  test("that come while the model gives its answer get a run of their own, begun by the process that was there", async () => {
    const store = new MemoryStore();
    const [asked, go] = [gate(), gate()];
    const slow: ScriptStep = async () => {
      asked.open();
      await go.opened;
      return "one";
    };
    const agent = agentOf({ model: scriptedModel([slow, "two"]), checkpointer: store.open() });
    const first = agent.run("1", { threadId: "t" });
    await asked.opened;
    await elsewhere(store).send("t", { message: "2" });
    go.open();
    expect((await first).text).toBe("one");
    await until(async () => (await store.lines()).length === 4);
    expect(await store.lines()).toEqual(["user: 1", "assistant: one", "user: 2", "assistant: two"]);
    await agent.close();
  });

  test("by enqueue reach a run of another process, and the caller gets the answer", async () => {
    const store = new MemoryStore();
    const { agent, begun, end } = busy(store, [callsWork, "both"]);
    const first = agent.run("go", { threadId: "t" });
    await begun;
    const other = agentOf({ model: scriptedModel([]), checkpointer: store.open() });
    const second = other.run("and hurry", { threadId: "t", whenBusy: "enqueue" });
    await until(async () => (await ids(store)).length === 1);
    await looked(store);
    end();
    expect((await Promise.all([first, second])).map(({ text }) => text)).toEqual(["both", "both"]);
    expect((await store.lines()).filter((line) => line === "user: and hurry")).toHaveLength(1);
    expect(await ids(store)).toEqual([]);
  });

  test("that a guard refuses, or throws on, concern their sender alone", async () => {
    const store = new MemoryStore();
    const guardPrompt = ({ message }: { message: { content: unknown } }) => {
      if (message.content === "bad") return { refuse: "not that" };
      if (message.content === "worse") throw new Error("the guard broke");
      return undefined;
    };
    const { agent, begun, end } = busy(store, [callsWork, "fine"], { hooks: { guardPrompt } });
    const run = agent.run("go", { threadId: "t" });
    await begun;
    const sender = elsewhere(store);
    for (const text of ["bad", "good", "worse"]) await sender.send("t", { message: text }, { id: text });
    await looked(store);
    end();
    expect((await run).text).toBe("fine");
    const refused = ofType(await eventsOf(run), "signal-refused");
    expect(refused.map(({ id, error }) => [id, (error as Error).message])).toEqual([
      ["bad", "not that"],
      ["worse", "the guard broke"],
    ]);
    expect((await store.lines()).filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: good"]);
    const { errors } = await store.state();
    expect(errors.map(({ where, message }) => [where, message])).toEqual([
      ["signal bad", "not that"],
      ["signal worse", "the guard broke"],
    ]);
    expect(await ids(store)).toEqual([]);
  });

  test("of another person wait for a run of that person's own, and run with no one else's runtime", async () => {
    const store = new MemoryStore();
    const { agent, begun, end, runtimes } = busy(store, [callsWork, "to ann", callsWork, "to bob"]);
    const run = agent.run("go", { threadId: "t", subject: "ann", runtime: "ann's" });
    await begun;
    const sender = elsewhere(store);
    await sender.send("t", { message: userMessage("and I?", { metadata: { subject: "bob" } }) }, { id: "bob" });
    await sender.send("t", { message: userMessage("me too", { metadata: { subject: "ann" } }) }, { id: "ann" });
    await looked(store);
    end();
    expect((await run).text).toBe("to ann");
    expect(await ids(store)).toEqual(["bob"]);
    expect((await store.lines()).filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: me too"]);
    await agent.run("now I", { threadId: "t", subject: "bob", runtime: "bob's" });
    expect(runtimes).toEqual(["ann's", "bob's"]);
    expect(await ids(store)).toEqual([]);
    expect((await store.lines()).slice(-5)).toEqual([
      "user: and I?",
      "user: now I",
      "assistant: (calls work)",
      "tool: done",
      "assistant: to bob",
    ]);
  });

  test("of another person run with what runtimeFor gives for them", async () => {
    const store = new MemoryStore();
    const runtimeFor = ({ metadata }: { metadata?: Readonly<Record<string, unknown>> }) => `${metadata?.["subject"]}'s`;
    const { agent, begun, end, runtimes } = busy(store, [callsWork, callsWork, "to both"], { runtimeFor });
    const run = agent.run("go", { threadId: "t", subject: "ann", runtime: "ann's" });
    await begun;
    const bobs = userMessage("and I?", { metadata: { subject: "bob" } });
    await elsewhere(store).send("t", { message: bobs });
    await looked(store);
    end();
    expect((await run).text).toBe("to both");
    expect(runtimes).toEqual(["ann's", "bob's"]);
  });

  test("that an erasure took from the mailbox are not said", async () => {
    const checkpointer = new MemoryCheckpointer();
    await checkpointer.save(AgentState.create().withMessage(userMessage("hello")), "t");
    const erased = userMessage("[erased]", { metadata: { erased: true } });
    await checkpointer.send("t", { message: erased });
    const agent = agentOf({ model: scriptedModel(["hi"]), checkpointer });
    await agent.run("on", { threadId: "t" });
    const said = (await checkpointer.load("t"))?.messages.map(({ content }) => content);
    expect(said).toEqual(["hello", "on", "hi"]);
    expect(await checkpointer.signals("t")).toEqual([]);
  });
});

test("an agent hands work to another one by a message to a thread of its own, once however often it is tried", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  const handOver = tool({
    name: "hand_over",
    effect: "idempotent",
    execute: async (_, { idempotencyKey }) => {
      const handed = { message: userMessage("pack it", { metadata: { for: "t" } }) };
      for (const _ of [1, 2]) await checkpointer.send("packing/7", handed, { id: idempotencyKey, create: true });
      return "handed over";
    },
  });
  const seller = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "hand_over" }] }, "sold"]),
    checkpointer,
    tools: [handOver],
  });
  await seller.run("sell", { threadId: "t" });
  const packer = agentOf({ model: scriptedModel(["packed"]), checkpointer: store.open() });
  const report = await packer.recover({ prefix: "packing/", olderThanMs: 0 });
  expect(report.recovered).toMatchObject([{ threadId: "packing/7", stopReason: "complete" }]);
  expect(await store.lines("packing/7")).toEqual(["user: pack it", "assistant: packed"]);
});

describe("answers and outcomes", () => {
  const approved = (store: MemoryStore, count: number) => {
    const made: unknown[] = [];
    const pay = tool({
      name: "pay",
      needsApproval: true,
      execute: async (input) => {
        made.push(input);
        return "paid";
      },
    });
    const toolCalls = Array.from({ length: count }, (_, index) => ({ id: `c${index}`, name: "pay" }));
    const agent = agentOf({
      model: scriptedModel([{ toolCalls }, "all paid"]),
      checkpointer: store.open(),
      tools: [pay],
    });
    return { agent, made };
  };

  test("approve all that waits in one call, from any process; the next run makes the calls", async () => {
    const store = new MemoryStore();
    const { agent, made } = approved(store, 5);
    const { pending } = await agent.run("pay all", { threadId: "t" });
    const answer = pending.map(({ id }) => ({ id, response: { decision: "approve" } }));
    await elsewhere(store).send("t", { answer }, { id: "ok" });
    expect(made).toHaveLength(0);
    expect(await agent.recover({ olderThanMs: 0 })).toMatchObject({ recovered: [{ stopReason: "complete" }] });
    expect(made).toHaveLength(5);
    expect(await store.statuses()).toEqual(Array.from({ length: 5 }, () => "succeeded"));
    expect(await ids(store)).toEqual([]);
  });

  test("an answer that fits nothing is refused for its sender alone, and the others of its signal count", async () => {
    const store = new MemoryStore();
    const { agent, made } = approved(store, 2);
    await agent.run("pay", { threadId: "t" });
    const response = { decision: "approve" };
    const answer = ["c0/approval", "nothing", "c1/approval", "c0/approval"].map((id) => ({ id, response }));
    await elsewhere(store).send("t", { answer }, { id: "some" });
    const run = agent.run(undefined, { threadId: "t" });
    expect((await run).text).toBe("all paid");
    expect(made).toHaveLength(2);
    expect((await store.state()).errors).toMatchObject([{ where: "signal some" }]);
    expect(await ids(store)).toEqual([]);
  });

  test("a webhook delivers an outcome without making a run, twice or in another order of keys too", async () => {
    const store = new MemoryStore();
    const ship = tool({ name: "ship", execute: (_, { later }) => later() });
    const model = scriptedModel([{ toolCalls: [{ id: "c1", name: "ship" }] }, "it is on its way"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [ship] });
    expect((await agent.run("ship it", { threadId: "t" })).stopReason).toBe("pending");
    const hook = elsewhere(store);
    await hook.send("t", { result: { toolCallId: "c1", result: { by: "rail", at: 5 } } }, { id: "a" });
    await hook.send("t", { result: { toolCallId: "c1", result: { at: 5, by: "rail" } } }, { id: "b" });
    await hook.send("t", { result: { toolCallId: "c1", error: "lost" } }, { id: "c" });
    expect(model.requests).toHaveLength(1);
    expect((await agent.run(undefined, { threadId: "t" })).text).toBe("it is on its way");
    const state = await store.state();
    expect(state.messages.find(({ role }) => role === "tool")?.content).toContain("rail");
    expect(state.errors.map(({ where }) => where)).toEqual(["signal c"]);
    expect(await ids(store)).toEqual([]);
  });

  test("words that come while something waits stay until it is answered, and then stand behind the result", async () => {
    const store = new MemoryStore();
    const { agent } = approved(store, 1);
    await agent.run("pay", { threadId: "t" });
    const sender = elsewhere(store);
    await sender.send("t", { message: "is it done?" }, { id: "words" });
    expect((await agent.run(undefined, { threadId: "t" })).stopReason).toBe("pending");
    expect(await ids(store)).toEqual(["words"]);
    await sender.send("t", { answer: { id: "c0/approval", response: { decision: "approve" } } });
    expect((await agent.run(undefined, { threadId: "t" })).text).toBe("all paid");
    expect((await store.lines()).slice(1)).toEqual([
      "assistant: (calls pay)",
      "tool: paid",
      "user: is it done?",
      "assistant: all paid",
    ]);
  });

  test("an outcome for a sub-agent's call reaches it through its caller's thread", async () => {
    const store = new MemoryStore();
    const ship = tool({ name: "ship", execute: (_, { later }) => later() });
    const child = agentOf({
      model: scriptedModel([{ toolCalls: [{ id: "s1", name: "ship" }] }, "shipped"]),
      tools: [ship],
    });
    const delegate = child.asTool({ name: "clerk", description: "ships" });
    const model = scriptedModel([
      { toolCalls: [{ id: "p1", name: "clerk", arguments: { prompt: "ship" } }] },
      "all done",
    ]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [delegate] });
    const { pending } = await agent.run("go", { threadId: "t" });
    expect(pending.map(({ toolCallId }) => toolCallId)).toEqual(["p1/s1"]);
    await elsewhere(store).send("t", { result: { toolCallId: "p1/s1", result: "by rail" } }, { id: "hook" });
    expect((await agent.run(undefined, { threadId: "t" })).text).toBe("all done");
    expect((await store.lines()).find((line) => line.startsWith("tool"))).toBe("tool: shipped");
    expect(await ids(store)).toEqual([]);
  });
});

describe("a cancellation", () => {
  test("from another process ends the run as its signal would: the call under way is aborted, and nothing is begun again", async () => {
    const store = new MemoryStore();
    const { agent, begun, aborted } = busy(store, [callsWork, "never said"]);
    const run = agent.run("go", { threadId: "t" });
    await begun;
    await elsewhere(store).send("t", { cancel: "enough" }, { id: "stop" });
    const { stopReason, state } = await run;
    expect(stopReason).toBe("cancelled");
    expect(aborted).toHaveLength(1);
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(["started"]);
    expect(await ids(store)).toEqual([]);
    expect((await agent.recover({ olderThanMs: 0 })).recovered).toEqual([]);
  }, 15_000);

  test("by the thread of an agent of the same process is heard at once", async () => {
    const store = new MemoryStore();
    const { agent, begun } = busy(store, [callsWork, "never said"]);
    const run = agent.run("go", { threadId: "t" });
    await begun;
    const since = performance.now();
    await agent.thread("t").send({ cancel: true });
    expect((await run).stopReason).toBe("cancelled");
    expect(performance.now() - since).toBeLessThan(900);
  });

  test("of a turn whose process died ends it for the next run; one that came too late ends nothing", async () => {
    const store = new MemoryStore();
    const { agent, begun } = busy(store, [callsWork]);
    agent.run("go", { threadId: "t" }).catch(() => undefined);
    await begun;
    store.killAll();
    await elsewhere(store).send("t", { cancel: true });
    const next = agentOf({ model: scriptedModel(["hello again"]), checkpointer: store.open(), tools: [] });
    expect((await next.run(undefined, { threadId: "t" })).stopReason).toBe("cancelled");
    expect(await ids(store)).toEqual([]);
    await elsewhere(store).send("t", { cancel: true });
    expect((await next.run("hello?", { threadId: "t" })).text).toBe("hello again");
    expect(await ids(store)).toEqual([]);
  });
});

describe("a run that nothing is sent to", () => {
  test("asks the storage for nothing more than before", async () => {
    const checkpointer = new MemoryCheckpointer();
    const agent = agentOf({
      model: scriptedModel([callsWork, "done", callsWork, "done"]),
      checkpointer,
      tools: [tool({ name: "work", execute: () => "ok" })],
    });
    await agent.run("1", { threadId: "t" });
    const log = contextOf(checkpointer)?.log;
    const calls: string[] = [];
    for (const name of ["tail", "readTail", "readRecords", "list", "append"] as const) {
      const original = log?.[name].bind(log) as (...args: unknown[]) => unknown;
      Object.assign(log as object, {
        [name]: (...args: unknown[]) => {
          calls.push(name);
          return original(...args);
        },
      });
    }
    await agent.run("2", { threadId: "t" });
    expect(calls.filter((name) => name !== "append")).toEqual(["readTail"]);
    expect(calls.filter((name) => name === "append").length).toBeLessThanOrEqual(5);
  });
});

test("a sender in a loop: the run ends, every signal that was taken is said once and in order", async () => {
  const store = new MemoryStore();
  const steps = Array.from({ length: 12 }, () => callsWork);
  const agent = agentOf({
    model: scriptedModel([...steps, ...Array.from({ length: 40 }, (_, index) => `answer ${index}`)]),
    checkpointer: store.open(),
    tools: [tool({ name: "work", execute: () => new Promise((resolve) => setTimeout(() => resolve("ok"), 2)) })],
    maxIterations: 30,
    toolLoopThreshold: 1000,
  });
  const sender = elsewhere(store);
  await agent.thread("t").update((state) => state.withMetadata({ title: "busy" }));
  const sent: string[] = [];
  let isOver = false;
  const sending = (async () => {
    for (let each = 0; !isOver; each++) {
      const refused = await sender.send("t", { message: `m${each}` }, { id: `m${each}` }).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused === undefined) sent.push(`m${each}`);
      else expect(refused).toMatchObject({ code: "TOO_LARGE" });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  await agent.run("go", { threadId: "t" });
  isOver = true;
  await sending;
  await until(async () => (await ids(store)).length === 0);
  await agent.close();
  const left = await ids(store);
  const said = (await store.state()).messages.flatMap(({ id, role }) =>
    role === "user" && id !== undefined ? [id] : [],
  );
  expect([...said, ...left].filter((id) => id.startsWith("m"))).toEqual(sent);
  expect(sent.length).toBeGreaterThan(5);
  expect(left.length).toBeLessThanOrEqual(MOST_WAITING);
}, 30_000);
