/**
 * A LangGraph graph on a holdfast storage: it stops to ask, another process
 * answers, and its history can be gone back to.
 *
 *   npx tsx examples/15-langgraph.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { toLangGraphSaver } from "holdfast/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
});

/** What every process of the program compiles. */
const graphOn = (url: string) => {
  const checkpointer = toLangGraphSaver(url);
  const graph = new StateGraph(State)
    .addNode("plan", () => ({ log: ["planned: charge 40 EUR"] }))
    .addNode("ask", () => ({ log: [`a person said: ${String(interrupt("charge 40 EUR?"))}`] }))
    .addNode("charge", () => ({ log: ["charged"] }))
    .addEdge(START, "plan")
    .addEdge("plan", "ask")
    .addEdge("ask", "charge")
    .addEdge("charge", END)
    .compile({ checkpointer });
  return { graph, checkpointer };
};

const folder = await mkdtemp(join(tmpdir(), "holdfast-example-"));
const url = `sqlite:${join(folder, "graphs.db")}`;
const config = { configurable: { thread_id: "order-7" }, durability: "sync" as const };

const first = graphOn(url);
await first.graph.invoke({ log: ["order 7"] }, config);
const waiting = await first.graph.getState(config);
console.log("waits for:", waiting.tasks[0]?.interrupts[0]?.value);
await first.checkpointer.close();

const second = graphOn(url);
const result = await second.graph.invoke(new Command({ resume: "yes" }), config);
console.log("after the answer:", result.log.join(" · "));

const saver = await second.checkpointer.saver();
const history = await saver.listCheckpoints({ threadId: "order-7" });
console.log("checkpoints:", history.length);
console.log("pruned:", (await saver.prune({ threadId: "order-7", keepLast: 1 })).checkpoints);
console.log("still there:", ((await second.graph.getState(config)).values as { log: string[] }).log.length, "lines");
await second.checkpointer.close();
await rm(folder, { recursive: true });
