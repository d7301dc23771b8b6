import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { createAgent, fakeModel, tool } from "langchain";
import { z } from "zod";

/** What a run shows of itself, without ids and times. */
export type Told = unknown;

export interface Scenario {
  readonly name: string;
  run(checkpointer: BaseCheckpointSaver): Promise<Told>;
}

const at = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });

const said = (messages: readonly BaseMessage[]): readonly unknown[] =>
  messages.map((message) => [message.getType(), message.constructor.name, message.content]);

/** The whole history of a thread, newest first. */
async function historyOf(graph: { getStateHistory(config: object): AsyncIterable<unknown> }, threadId: string) {
  const told: unknown[] = [];
  for await (const state of graph.getStateHistory({ configurable: { thread_id: threadId } })) {
    const { values, next, metadata, tasks } = state as {
      values: Record<string, unknown>;
      next: readonly string[];
      metadata: { source?: string; step?: number };
      tasks: readonly { name: string; interrupts: readonly { value?: unknown }[]; error?: unknown }[];
    };
    const { messages, ...rest } = values as { messages?: BaseMessage[] };
    told.push({
      values: { ...rest, ...(messages !== undefined && { messages: said(messages) }) },
      next,
      source: metadata?.source,
      step: metadata?.step,
      tasks: tasks.map(({ name, interrupts, error }) => [
        name,
        interrupts.map(({ value }) => value),
        error !== undefined,
      ]),
    });
  }
  return told;
}

const List = Annotation.Root({
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  n: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

const loop: Scenario = {
  name: "a loop of six steps and its history",
  run: async (checkpointer) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("speak", ({ messages }) => ({ messages: [new AIMessage(`answer ${messages.length}`)] }))
      .addEdge(START, "speak")
      .addConditionalEdges("speak", ({ messages }) => (messages.length < 7 ? "speak" : END))
      .compile({ checkpointer });
    const result = await graph.invoke({ messages: [new HumanMessage("begin")] }, at("loop"));
    await graph.invoke({ messages: [new HumanMessage("once more")] }, at("loop"));
    const state = await graph.getState(at("loop"));
    return [said(result.messages), said(state.values.messages), await historyOf(graph, "loop")];
  },
};

const subgraphs: Scenario = {
  name: "subgraphs that share messages, with a question inside one of them",
  run: async (checkpointer) => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("ask", () => {
        const answer = interrupt("what now?") as string;
        return { messages: [new AIMessage(`heard ${answer}`)] };
      })
      .addNode("then", () => ({ messages: [new AIMessage("inner done")] }))
      .addEdge(START, "ask")
      .addEdge("ask", "then")
      .compile();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("before", () => ({ messages: [new AIMessage("before")] }))
      .addNode("inner", inner)
      .addNode("after", () => ({ messages: [new ToolMessage({ content: "after", tool_call_id: "x" })] }))
      .addEdge(START, "before")
      .addEdge("before", "inner")
      .addEdge("inner", "after")
      .compile({ checkpointer });
    await graph.invoke({ messages: [new HumanMessage("begin")] }, at("sub"));
    const waiting = await graph.getState(at("sub"), { subgraphs: true });
    const innerState = waiting.tasks[0]?.state as { values?: { messages?: BaseMessage[] } } | undefined;
    const result = await graph.invoke(new Command({ resume: "an answer" }), at("sub"));
    return [
      waiting.next,
      waiting.tasks.map((task) => task.interrupts.map(({ value }) => value)),
      said(innerState?.values?.messages ?? []),
      said(result.messages as BaseMessage[]),
      await historyOf(graph, "sub"),
    ];
  },
};

const parallel: Scenario = {
  name: "parallel nodes of which one fails: the other's result is kept, and runs once",
  run: async (checkpointer) => {
    const calls = { good: 0, bad: 0 };
    const graph = new StateGraph(List)
      .addNode("good", () => {
        calls.good++;
        return { items: ["good"] };
      })
      .addNode("bad", () => {
        if (calls.bad++ === 0) throw new Error("not yet");
        return { items: ["bad"] };
      })
      .addNode("join", ({ items }) => ({ n: items.length }))
      .addEdge(START, "good")
      .addEdge(START, "bad")
      .addEdge(["good", "bad"], "join")
      .compile({ checkpointer });
    const failure = await graph.invoke({ items: ["in"] }, at("par")).then(
      () => "no failure",
      (error: unknown) => String(error),
    );
    const between = await graph.getState(at("par"));
    const result = await graph.invoke(null, at("par"));
    return [failure, between.next, result, calls, await historyOf(graph, "par")];
  },
};

const sends: Scenario = {
  name: "a fan-out by Send, and its join",
  run: async (checkpointer) => {
    const graph = new StateGraph(List)
      .addNode("plan", () => ({ n: 5 }))
      .addNode("work", (state: { items: string[]; which: number }) => ({ items: [`work ${state.which}`] }))
      .addEdge(START, "plan")
      .addConditionalEdges("plan", (state) => [0, 1, 2, 3, 4].map((which) => new Send("work", { ...state, which })), [
        "work",
      ])
      .compile({ checkpointer });
    const result = await graph.invoke({ items: ["in"] }, at("send"));
    return [[...result.items].sort(), result.n, (await historyOf(graph, "send")).length];
  },
};

const forks: Scenario = {
  name: "two forks of one state, and the state they came from",
  run: async (checkpointer) => {
    const graph = new StateGraph(List)
      .addNode("a", () => ({ items: ["a"] }))
      .addNode("b", () => ({ items: ["b"] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer });
    await graph.invoke({ items: ["in"] }, at("fork"));
    const states: { config: object; next: readonly string[] }[] = [];
    for await (const state of graph.getStateHistory(at("fork"))) states.push(state);
    const base = states.find(({ next }) => next[0] === "b")?.config ?? {};
    const first = await graph.updateState(base, { items: ["fork 1"] }, "a");
    const second = await graph.updateState(base, { items: ["fork 2"] }, "a");
    const copy = await graph.updateState(base, null, "__copy__");
    const told: unknown[] = [];
    for (const config of [first, second, copy, base]) told.push((await graph.getState(config)).values);
    const replayed = await graph.invoke(null, { ...first, durability: "sync" as const });
    const again = await graph.invoke(null, { ...base, durability: "sync" as const });
    for (const config of [first, second, base]) told.push((await graph.getState(config)).values);
    return [told, replayed, again, await historyOf(graph, "fork")];
  },
};

const mutated: Scenario = {
  name: "state that a node changes in place",
  run: async (checkpointer) => {
    const State = Annotation.Root({
      box: Annotation<{ text: string }[]>({ reducer: (_, next) => next, default: () => [] }),
      n: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
    });
    const graph = new StateGraph(State)
      .addNode("one", ({ box }) => {
        (box[0] as { text: string }).text = "changed in place, at some length, by the first node";
        return { box: [...box], n: 1 };
      })
      .addNode("two", ({ box }) => ({ box: [...box, { text: "added by the second node, at some length too" }], n: 2 }))
      .addEdge(START, "one")
      .addEdge("one", "two")
      .compile({ checkpointer });
    const box = [{ text: "as it was in the beginning, at some length as well" }];
    const result = await graph.invoke({ box }, at("mut"));
    return [result, (await graph.getState(at("mut"))).values];
  },
};

const agent: Scenario = {
  name: "createAgent with a tool",
  run: async (checkpointer) => {
    const add = tool(({ a, b }: { a: number; b: number }) => String(a + b), {
      name: "add",
      description: "adds",
      schema: z.object({ a: z.number(), b: z.number() }),
    });
    const model = fakeModel()
      .respondWithTools([{ name: "add", args: { a: 2, b: 3 }, id: "call_1" }])
      .respond(new AIMessage("the sum is 5"))
      .respond(new AIMessage("you asked for a sum"));
    const made = createAgent({ model, tools: [add], checkpointer });
    const first = await made.invoke({ messages: [new HumanMessage("2 and 3?")] }, at("agent"));
    const second = await made.invoke({ messages: [new HumanMessage("what did I ask?")] }, at("agent"));
    return [said(first.messages), said(second.messages)];
  },
};

export const SCENARIOS: readonly Scenario[] = [loop, subgraphs, parallel, sends, forks, mutated, agent];
