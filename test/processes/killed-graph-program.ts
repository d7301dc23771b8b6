/**
 * killed-graph-program <url> <steps>
 *
 * Is told the name of a thread and runs a LangGraph graph on it, from wherever it
 * stands, until it is done or killed. Two nodes run side by side in every step,
 * one of them a graph of its own; a third counts, and says from which number:
 * with sync durability that number is stored by then.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { listen, say } from "./speaking.ts";

const [url = "", steps] = process.argv.slice(2);

/** Only these three: all of `openCheckpointer` would be loaded anew by every process that is killed. */
function open(): Checkpointer {
  const [scheme, place = ""] = url.split(/:(.*)/s);
  if (scheme === "file") return new FileCheckpointer({ directory: place });
  if (scheme === "sqlite") return sqliteCheckpointer({ path: place });
  const dsn = new URL(url);
  const tablePrefix = dsn.searchParams.get("tablePrefix") ?? "";
  dsn.searchParams.delete("tablePrefix");
  return postgresqlCheckpointer({ dsn: dsn.href, tablePrefix });
}

const State = Annotation.Root({
  items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  n: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});
const Inner = Annotation.Root({ items: Annotation<string[]>, n: Annotation<number>, thought: Annotation<string> });

const item = (name: string, n: number): string => `${name} ${n} ${"word ".repeat(40)}`;
const later = (): Promise<void> => pause(Math.random() * 3);

const left = new StateGraph(Inner)
  .addNode("think", async ({ n }) => {
    await later();
    return { thought: `left ${n}` };
  })
  .addNode("speak", ({ n, thought }) => {
    if (thought !== `left ${n}`) throw new Error(`thought of ${thought} in step ${n}`);
    say({ ran: `left ${n}` });
    return { items: [item("left", n)] };
  })
  .addEdge(START, "think")
  .addEdge("think", "speak")
  .addEdge("speak", END)
  .compile();

const graph = new StateGraph(State)
  .addNode("left", left)
  .addNode("right", async ({ n }) => {
    await later();
    say({ ran: `right ${n}` });
    return { items: [item("right", n)] };
  })
  .addNode("count", ({ n }) => {
    say({ began: n });
    return { n: n + 1 };
  })
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge(["left", "right"], "count")
  .addConditionalEdges("count", ({ n }) => (n < Number(steps) ? ["left", "right"] : END))
  .compile({ checkpointer: toLangGraphSaver(open()) });

say("ready");
const thread = await listen();
const config = { configurable: { thread_id: thread }, durability: "sync" as const, recursionLimit: 1000 };
const before = await graph.getState(config);
say({ found: (before.values as { n?: number }).n ?? 0 });
const isNew = before.config.configurable?.["checkpoint_id"] === undefined;
const result = await graph.invoke(isNew ? { items: [] } : null, config);
say({ items: result.items.map((each) => each.slice(0, each.indexOf(" word"))) });
process.exit();
