/**
 * killed-graph-program <backend> <directory> <thread> <steps>
 *
 * Runs a LangGraph graph on a thread, from wherever it stands, until it is done
 * or killed. Two nodes run side by side in every step; a third counts, and says
 * from which number: with sync durability that number is stored by then.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { toLangGraphSaver } from "../../src/adapters/langgraph/index.ts";
import { asDiskBackend, openOnDisk } from "./disk-backends.ts";
import { listen, say } from "./speaking.ts";

const [backend, directory = "", thread = "", steps] = process.argv.slice(2);
const checkpointer = toLangGraphSaver(await openOnDisk(asDiskBackend(backend), directory));

const State = Annotation.Root({
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  n: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

const side =
  (name: string) =>
  async ({ n }: typeof State.State) => {
    await pause(Math.random() * 3);
    say({ ran: `${name} ${n}` });
    return { items: [`${name} ${n} ${"word ".repeat(40)}`] };
  };

const graph = new StateGraph(State)
  .addNode("left", side("left"))
  .addNode("right", side("right"))
  .addNode("count", ({ n }) => {
    say({ began: n });
    return { n: n + 1 };
  })
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge(["left", "right"], "count")
  .addConditionalEdges("count", ({ n }) => (n < Number(steps) ? ["left", "right"] : END))
  .compile({ checkpointer });

const config = { configurable: { thread_id: thread }, durability: "sync" as const, recursionLimit: 1000 };
say("ready");
await listen();
const before = await graph.getState(config);
say({ found: (before.values as { n?: number }).n ?? 0 });
const isNew = before.config.configurable?.["checkpoint_id"] === undefined;
const result = await graph.invoke(isNew ? { items: [] } : null, config);
say({ items: result.items.map((item) => item.slice(0, item.indexOf(" word"))) });
process.exit();
