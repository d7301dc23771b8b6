import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { answerPending } from "../../src/agent/tool-call/answering.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../src/checkpoint/context.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { failureOf } from "../failure-of.ts";
import { served } from "../http/served.ts";

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (some, more) => [...some, ...more], default: () => [] }),
});

const asking =
  (name: string, ...questions: unknown[]) =>
  (): { said: string[] } => ({
    said: questions.map((question) => `${name}: ${String(interrupt(question))}`),
  });

const at = (thread_id: string): { configurable: { thread_id: string } } => ({ configurable: { thread_id } });

/** One node that asks twice. */
const twice = (checkpointer: Checkpointer) =>
  new StateGraph(State)
    .addNode("book", asking("book", "Which seat?", { action: "pay", amount: 5 }))
    .addEdge(START, "book")
    .compile({ checkpointer: toLangGraphSaver(checkpointer) });

/** Two nodes at once, one of them with a graph below it that asks. */
const nested = (checkpointer: Checkpointer) => {
  const below = new StateGraph(State)
    .addNode("inner", asking("inner", "Which hotel?"))
    .addEdge(START, "inner")
    .compile();
  return new StateGraph(State)
    .addNode("travel", below)
    .addNode("book", asking("book", "Which seat?"))
    .addEdge(START, "travel")
    .addEdge(START, "book")
    .compile({ checkpointer: toLangGraphSaver(checkpointer) });
};

const OPENERS = {
  "without an index of metadata": () => new MemoryCheckpointer(),
  "with an index of metadata": () => sqliteCheckpointer({ path: ":memory:" }),
};

describe.each(Object.entries(OPENERS))("an interrupt of a graph, in a storage %s", (_, open) => {
  test("is in the inbox, and its answer lies ready for the next run of the graph", async () => {
    await using checkpointer = open();
    const graph = twice(checkpointer);
    await graph.invoke({ said: ["go"] }, at("t"));
    const [first] = await checkpointer.inbox();
    expect(first).toMatchObject({ threadId: "t", kind: "question", question: "Which seat?", isGraph: true });
    expect(await checkpointer.listThreads({ standing: "waiting" })).toEqual(["t"]);
    await answerPending(checkpointer, "t", { id: first?.id ?? "", response: "window" });
    expect(await checkpointer.inbox()).toEqual([]);
    expect(
      (await failureOf(() => answerPending(checkpointer, "t", { id: first?.id ?? "", response: "aisle" }))).code,
    ).toBe("NOT_FOUND");
    await graph.invoke(null, at("t"));
    const [second] = await checkpointer.inbox();
    expect(second).toMatchObject({ arguments: { action: "pay", amount: 5 } });
    await answerPending(checkpointer, "t", { id: second?.id ?? "", response: false });
    expect((await graph.invoke(null, at("t"))).said).toEqual(["go", "book: window", "book: false"]);
    expect(await checkpointer.inbox()).toEqual([]);
    expect(await checkpointer.listThreads({ standing: "waiting" })).toEqual([]);
  });

  test("of several tasks, and of a graph below, is answered by itself", async () => {
    await using checkpointer = open();
    const graph = nested(checkpointer);
    await graph.invoke({ said: ["go"] }, at("t"));
    const items = await checkpointer.inbox();
    expect(items.map(({ question }) => question).sort()).toEqual(["Which hotel?", "Which seat?"]);
    const idOf = (asked: string): string => items.find(({ question }) => question === asked)?.id ?? "";
    await answerPending(checkpointer, "t", { id: idOf("Which hotel?"), response: "Sacher" });
    expect((await checkpointer.inbox()).map(({ question }) => question)).toEqual(["Which seat?"]);
    await answerPending(checkpointer, "t", { id: idOf("Which seat?"), response: "12A" });
    expect(await checkpointer.inbox()).toEqual([]);
    const { said } = await graph.invoke(null, at("t"));
    expect([...said].sort()).toEqual(["book: 12A", "go", "go", "inner: Sacher"]);
  });

  test("that the graph's own process resumes is in the inbox no longer", async () => {
    await using checkpointer = open();
    const graph = twice(checkpointer);
    await graph.invoke({ said: [] }, at("t"));
    await graph.invoke(new Command({ resume: "window" }), at("t"));
    expect((await checkpointer.inbox()).map(({ arguments: asked }) => asked)).toEqual([{ action: "pay", amount: 5 }]);
    await graph.invoke(new Command({ resume: "yes" }), at("t"));
    expect(await checkpointer.inbox()).toEqual([]);
  });

  test("leaves the history as it is: each checkpoint once, and what LangGraph reads of it", async () => {
    await using checkpointer = open();
    const graph = twice(checkpointer);
    await graph.invoke({ said: ["go"] }, at("t"));
    const history: (string | undefined)[] = [];
    for await (const { config } of graph.getStateHistory(at("t"))) history.push(config.configurable?.["checkpoint_id"]);
    expect(new Set(history).size).toBe(history.length);
    const { tasks, next } = await graph.getState(at("t"));
    expect([next, tasks.map(({ interrupts }) => interrupts.map(({ value }) => value))]).toEqual([
      ["book"],
      [["Which seat?"]],
    ]);
    await checkpointer.fork("t", "forked");
    expect((await checkpointer.inbox()).map(({ threadId }) => threadId).sort()).toEqual(["forked", "t"]);
    expect(await checkpointer.verify("t")).toMatchObject({ faults: [], lost: [] });
  });

  test("that only its own serialiser reads is in the inbox, and left to the graph's process", async () => {
    await using checkpointer = open();
    const serde = {
      dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => ["own", Buffer.from(JSON.stringify(value))],
      loadsTyped: async (_type: string, data: Uint8Array | string) =>
        JSON.parse(Buffer.from(data).toString()) as unknown,
    };
    const graph = new StateGraph(State)
      .addNode("book", asking("book", "Which seat?"))
      .addEdge(START, "book")
      .compile({ checkpointer: toLangGraphSaver(checkpointer, { serde }) });
    await graph.invoke({ said: [] }, at("t"));
    const [item] = await checkpointer.inbox();
    expect(item).toMatchObject({ threadId: "t", isGraph: true });
    const answer = () => answerPending(checkpointer, "t", { id: item?.id ?? "", response: "aisle" });
    expect(await failureOf(answer)).toMatchObject({ code: "UNSUPPORTED", message: /Command\(\{ resume \}\)/ });
    expect((await graph.invoke(new Command({ resume: "aisle" }), at("t"))).said).toEqual(["book: aisle"]);
    expect(await checkpointer.inbox()).toEqual([]);
  });

  test("is answered over HTTP, and cannot be declined", async () => {
    await using checkpointer = open();
    const graph = twice(checkpointer);
    await graph.invoke({ said: [] }, at("t"));
    await using service = await served((contextOf(checkpointer) as CheckpointContext).log);
    await using client = service.client();
    const [item] = await client.inbox();
    const decline = () => answerPending(client, "t", { id: item?.id ?? "", decline: "no seats" });
    expect(await failureOf(decline)).toMatchObject({ code: "INVALID_ARGUMENT", message: /cannot be declined/ });
    await answerPending(client, "t", { id: item?.id ?? "", response: "aisle" });
    await graph.invoke(null, at("t"));
    expect((await client.inbox()).map(({ arguments: asked }) => asked)).toEqual([{ action: "pay", amount: 5 }]);
  });
});
