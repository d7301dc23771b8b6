/** The graphs that savers are measured with: what a step adds is one message of a kilobyte. */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, END, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";

const TEXT = "x".repeat(1000);

const said = (text: string): AIMessage => new AIMessage({ content: `${text} ${TEXT}`, id: crypto.randomUUID() });

interface Config {
  readonly configurable: { readonly thread_id: string };
  readonly recursionLimit: number;
}

export interface MessageGraph {
  invoke(input: { messages: HumanMessage[] }, config: Config): Promise<{ readonly messages: readonly unknown[] }>;
  getState(config: Config): Promise<unknown>;
}

export const firstMessage = (): { messages: HumanMessage[] } => ({
  messages: [new HumanMessage({ content: "begin", id: "0" })],
});

export const configFor = (threadId: string): Config => ({
  configurable: { thread_id: threadId },
  recursionLimit: 10_000,
});

/** Adds one message a step. */
export const loopGraph = (checkpointer: BaseCheckpointSaver, steps: number): MessageGraph =>
  new StateGraph(MessagesAnnotation)
    .addNode("speak", ({ messages }) => ({ messages: [said(`message ${messages.length}`)] }))
    .addEdge(START, "speak")
    .addConditionalEdges("speak", ({ messages }) => (messages.length < steps ? "speak" : END))
    .compile({ checkpointer });

/** Calls a subgraph, which shares the messages, again and again. */
export const subgraphGraph = (checkpointer: BaseCheckpointSaver, calls: number): MessageGraph => {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("one", () => ({ messages: [said("inner one")] }))
    .addNode("two", () => ({ messages: [said("inner two")] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile();
  return new StateGraph(MessagesAnnotation)
    .addNode("inner", inner)
    .addEdge(START, "inner")
    .addConditionalEdges("inner", ({ messages }) => (messages.length < 2 * calls ? "inner" : END))
    .compile({ checkpointer });
};

/** Gives the same work to many tasks at once. */
export const parallelGraph = (checkpointer: BaseCheckpointSaver, tasks: number): MessageGraph =>
  new StateGraph(MessagesAnnotation)
    .addNode("work", () => ({ messages: [said("done")] }))
    .addConditionalEdges(START, () => Array.from({ length: tasks }, () => new Send("work", { messages: [] })), ["work"])
    .addEdge("work", END)
    .compile({ checkpointer });
