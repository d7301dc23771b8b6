import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterEach, describe, expect, test } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { localPlace, type SaverPlace } from "../saver/saver-places.ts";

const at = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });

const textOf = (messages: readonly BaseMessage[]): readonly unknown[] => messages.map(({ content }) => content);

/** Asks a question inside a subgraph. */
function askingGraph(checkpointer: Checkpointer) {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("first", () => ({ messages: [new AIMessage("before the question")] }))
    .addNode("ask", () => ({ messages: [new AIMessage(`heard ${interrupt("what now?")}`)] }))
    .addEdge(START, "first")
    .addEdge("first", "ask")
    .compile();
  return new StateGraph(MessagesAnnotation)
    .addNode("inner", inner)
    .addNode("after", () => ({ messages: [new AIMessage("after")] }))
    .addEdge(START, "inner")
    .addEdge("inner", "after")
    .compile({ checkpointer: toLangGraphSaver(checkpointer) });
}

describe.each(["memory", "sqlite", "file"])("%s: a checkpointer on threads that LangGraph wrote", (name) => {
  let place: SaverPlace | undefined;
  const open = async () => {
    place = await localPlace(name);
    const checkpointer = place.open();
    const graph = askingGraph(checkpointer);
    await graph.invoke({ messages: [new HumanMessage("begin")] }, at("t"));
    return { checkpointer, graph };
  };
  afterEach(async () => {
    await place?.cleanup();
    place = undefined;
  });

  test("a fork of a thread that waits inside a subgraph waits there too, and each goes on by itself", async () => {
    const { checkpointer, graph } = await open();
    await checkpointer.fork("t", "fork");
    const waiting = await graph.getState(at("fork"), { subgraphs: true });
    expect(waiting.tasks.map(({ interrupts }) => interrupts.map(({ value }) => value))).toEqual([["what now?"]]);
    const other = await graph.invoke(new Command({ resume: "other" }), at("fork"));
    const own = await graph.invoke(new Command({ resume: "own" }), at("t"));
    expect(textOf(other.messages)).toEqual(["begin", "before the question", "heard other", "after"]);
    expect(textOf(own.messages)).toEqual(["begin", "before the question", "heard own", "after"]);
  });

  test("a fork at an earlier checkpoint runs that step again", async () => {
    const { checkpointer, graph } = await open();
    const waiting = await graph.getState(at("t"));
    await graph.invoke(new Command({ resume: "own" }), at("t"));
    const fork = await checkpointer.fork("t", "fork", { at: String(waiting.config.configurable?.["checkpoint_id"]) });
    const state = await graph.getState(at("fork"));
    expect(state.config.configurable?.["checkpoint_id"]).toBe(fork);
    expect([state.next, textOf(state.values.messages)]).toEqual([["inner"], ["begin"]]);
    await graph.invoke(null, at("fork"));
    const { messages } = await graph.invoke(new Command({ resume: "other" }), at("fork"));
    expect(textOf(messages)).toEqual(["begin", "before the question", "heard other", "after"]);
    expect((await graph.getState(at("t"))).next).toEqual([]);
  });

  test("a diff shows the channels that changed, messages as the plain data they are kept as", async () => {
    const { checkpointer, graph } = await open();
    await graph.invoke(new Command({ resume: "own" }), at("t"));
    const ids = (await checkpointer.listCheckpoints("t"))
      .map(({ checkpointId }) => checkpointId)
      .filter((id) => !id.startsWith("/"));
    const { fields, lists } = await checkpointer.diff("t", ids[1] ?? "", ids[0] ?? "");
    expect(lists?.["channel_values.messages"]).toMatchObject({
      shared: 3,
      removed: [],
      added: [{ lc: 1, kwargs: { content: "after" } }],
    });
    expect(Object.keys(fields)).toContain("channel_versions.messages");
  });
});
