import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Coverage, Walked } from "./coverage.ts";

/** How often each call is made, after one to warm up. */
const ROUNDS = 5;

/** Runs every call warm on SQLite in the folder and returns what each walked through. The product is imported from `source`. */
export async function walkCalls(
  coverage: Coverage,
  source: string,
  folder: string,
): Promise<ReadonlyMap<string, Walked>> {
  const from = <T>(path: string) => import(pathToFileURL(join(source, path)).href) as Promise<T>;
  const { Agent, AgentState, tool } = await from<typeof import("../../src/index.ts")>("index.ts");
  const { sqliteCheckpointer } =
    await from<typeof import("../../src/backends/sqlite/index.ts")>("backends/sqlite/index.ts");
  const { toLangGraphSaver } = await from<typeof import("../../src/entry/langgraph.ts")>("entry/langgraph.ts");
  const path = join(folder, "walk.db");
  const walked = new Map<string, Walked>();
  /** The fewest functions of some rounds, behind one that only warms up: a timer of an earlier call may fire in one of them. */
  const walk = async (
    name: string,
    work: (round: number) => Promise<unknown>,
    prepare?: (round: number) => unknown,
  ) => {
    for (let round = 0; round <= ROUNDS; round++) {
      await prepare?.(round);
      const found = await coverage.walk(() => work(round));
      const least = walked.get(name);
      if (round > 0 && (least === undefined || found.functions.length < least.functions.length))
        walked.set(name, found);
    }
  };

  const checkpointer = sqliteCheckpointer({ path });
  let state = AgentState.create();
  const grow = () => {
    state = state.withMessage({ role: "user", content: `message ${state.messages.length}` });
  };
  const saveAnother = async () => {
    grow();
    await checkpointer.save(state, "a");
  };
  for (let count = 0; count < 10; count++) await saveAnother();
  await walk("save, warm", () => checkpointer.save(state, "a"), grow);
  await walk("load, warm", () => checkpointer.load("a"));

  let other = checkpointer;
  await checkpointer.save(AgentState.create(), "b");
  const openAnother = async () => {
    if (other !== checkpointer) await other.close();
    other = sqliteCheckpointer({ path });
    await other.load("b");
  };
  await walk("load, cold", () => other.load("a"), openAnother);
  await other.close();

  await walk("fork", (round) => checkpointer.fork("a", `fork ${round}`));
  await walk("lease taken and released", () => checkpointer.withLease("a", async () => undefined));
  await walk("vacuum", () => checkpointer.vacuum({ keepLast: 4 }), saveAnother);

  const saver = toLangGraphSaver(checkpointer);
  let config: Parameters<typeof saver.put>[0] = { configurable: { thread_id: "graph", checkpoint_ns: "" } };
  await walk("LangGraph put", async (step) => {
    const checkpoint = {
      v: 4,
      id: `00000000-0000-6000-8000-00000000000${step}`,
      ts: new Date(step).toISOString(),
      channel_values: { count: step },
      channel_versions: { count: step },
      versions_seen: {},
    };
    config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, { count: step });
  });

  const agent = new Agent({
    model: {
      id: "walk",
      async *stream({ messages }) {
        const isCalling = messages.at(-1)?.role === "user";
        if (isCalling) yield { type: "tool-call", id: "call-1", name: "add", argumentsText: '{"a":1}' };
        else yield { type: "text-delta", part: 0, text: "done" };
        const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 };
        yield { type: "finish", reason: isCalling ? "tool-calls" : "stop", usage };
      },
    },
    tools: [tool({ name: "add", inputSchema: { type: "object" }, execute: () => "2" })],
    checkpointer,
  });
  await walk("agent.run with one tool call", async (round) => agent.run("add", { threadId: `run ${round}` }));

  await checkpointer.close();
  return walked;
}
