// Writes threads.db with LangGraph 0.2; README.md says how.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, NodeInterrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const file = join(process.argv[2], "threads.db");
rmSync(file, { force: true });
const saver = SqliteSaver.fromConnString(file);
const at = (thread_id) => ({ configurable: { thread_id } });

const chat = new StateGraph(MessagesAnnotation)
  .addNode("answer", ({ messages }) => ({ messages: [new AIMessage(`answer ${messages.length}`)] }))
  .addNode("check", () => ({}))
  .addEdge(START, "answer")
  .addEdge("answer", "check")
  .addEdge("check", END)
  .compile({ checkpointer: saver });
for (const words of ["one", "two", "three"]) await chat.invoke({ messages: [new HumanMessage(words)] }, at("chat"));

const List = Annotation.Root({
  items: Annotation({ reducer: (before, more) => before.concat(more), default: () => [] }),
});
const sends = new StateGraph(List)
  .addNode("split", () => ({ items: ["split"] }))
  .addNode("work", ({ items }) => ({ items: [`worked on ${items[0]}`] }))
  .addEdge(START, "split")
  .addConditionalEdges("split", () => ["a", "b", "c"].map((item) => new Send("work", { items: [item] })))
  .addEdge("work", END)
  .compile({ checkpointer: saver });
await sends.invoke({ items: [] }, at("sends"));

const asks = new StateGraph(MessagesAnnotation)
  .addNode("ask", () => {
    throw new NodeInterrupt("may I?");
  })
  .addEdge(START, "ask")
  .addEdge("ask", END)
  .compile({ checkpointer: saver });
await asks.invoke({ messages: [new HumanMessage("do it")] }, at("waits"));

saver.db.pragma("wal_checkpoint(TRUNCATE)");
saver.db.pragma("journal_mode=DELETE");
saver.db.exec("VACUUM");
saver.db.close();
