/**
 * What the agent itself costs: one iteration (the model's answer, a tool call,
 * its result, the next request) with a model that takes no time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreAgent, type CoreAgentOptions } from "../src/agent/agent.ts";
import { type ToolEffect, tool } from "../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { type Model, NO_USAGE } from "../src/models/model.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

/** Messages in the thread when the timed iterations begin; each adds two. */
const SIZES = [10, 400, 4_000] as const;
const [SHORT] = SIZES;
/** Iterations that are timed in each round. */
const WINDOW = 20;
const LIMIT = 1.2;

export interface AgentMeasurement {
  readonly name: string;
  readonly savesPerIteration: number;
  readonly msAt10: number;
  readonly msAt400: number;
  readonly msAt4000: number;
}

interface Variant {
  readonly name: string;
  readonly effect: ToolEffect;
  readonly every?: CoreAgentOptions["checkpointEveryNIterations"];
  readonly open?: (directory: string) => Checkpointer;
}

const sqlite = (directory: string): Checkpointer => sqliteCheckpointer({ path: join(directory, "agent.db") });

const VARIANTS: readonly Variant[] = [
  { name: "no thread", effect: "atMostOnce" },
  { name: "memory", effect: "atMostOnce", open: () => new MemoryCheckpointer() },
  { name: "sqlite, tool with effects", effect: "atMostOnce", open: sqlite },
  { name: "sqlite, pure tool", effect: "pure", open: sqlite },
  { name: "sqlite, pure tool, saved at the end", effect: "pure", every: "end", open: sqlite },
];

/** Prints a table; the rows and the verdicts are for bench/results. */
export async function benchAgent(plan: { readonly rounds: number; readonly seed: number }): Promise<{
  readonly measurements: readonly AgentMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const texts = conversation(plan.seed, 64).map(({ content }) => content);
  const measurements: AgentMeasurement[] = [];
  for (const variant of VARIANTS) measurements.push(await measure(variant, texts, plan.rounds));
  const verdicts = judgeAgent(measurements);
  const rows = measurements.map(({ name, savesPerIteration, msAt10, msAt400, msAt4000 }) => [
    name,
    String(savesPerIteration),
    milliseconds(msAt10),
    milliseconds(msAt400),
    times(msAt400 / msAt10),
    milliseconds(msAt4000),
    times(msAt4000 / msAt10),
  ]);
  const heads = ["", "saves", ...SIZES.flatMap((size) => [`${size} messages`, ...(size === SHORT ? [] : ["growth"])])];
  console.log(
    `\nOne iteration of the agent, a model that takes no time, results of 1 KB, ${plan.rounds} rounds\n\n${renderTable(heads, rows)}`,
  );
  return { measurements, verdicts };
}

function judgeAgent(measurements: readonly AgentMeasurement[]): readonly Verdict[] {
  return measurements
    .filter(({ name }) => name === "no thread" || name === "memory" || name === "sqlite, tool with effects")
    .flatMap(({ name, msAt10, msAt400, msAt4000 }) =>
      [[400, msAt400] as const, [4_000, msAt4000] as const].map(([size, ms]) => {
        const target = `an iteration at ${size} messages at most ${LIMIT}x one at ${SHORT} (${name})`;
        return verdict(target, LIMIT, ms / msAt10, times(ms / msAt10));
      }),
    );
}

/** Threads of all sizes take turns: whatever else the machine does meets each. The quickest round counts. */
async function measure(variant: Variant, texts: readonly string[], rounds: number): Promise<AgentMeasurement> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-agent-"));
  const checkpointer = variant.open?.(directory);
  const timed = SIZES.map((): number[] => []);
  let threads = 0;
  let savesPerIteration = 0;
  const grown = async (messages: number): Promise<SteppedAgent> => {
    const agent = new SteppedAgent(variant, checkpointer, `thread ${threads++}`, texts);
    // The user's words, and two messages for each iteration.
    for (let count = 1; count + 2 <= messages; count += 2) await agent.step();
    return agent;
  };
  const longest = await grown(SIZES.at(-1) ?? SHORT);
  try {
    // The first round only warms up.
    for (let round = 0; round <= rounds; round++) {
      const agents = [...(await Promise.all(SIZES.slice(0, -1).map(grown))), longest];
      const savesBefore = longest.saves;
      const windows = SIZES.map((): number[] => []);
      for (let turn = 0; turn < WINDOW; turn++) {
        for (const [index, agent] of agents.entries()) windows[index]?.push(await agent.step());
      }
      savesPerIteration = (longest.saves - savesBefore) / WINDOW;
      if (round > 0) for (const [index, window] of windows.entries()) timed[index]?.push(median(window));
      await Promise.all(agents.slice(0, -1).map((agent) => agent.end()));
    }
    const [msAt10 = 0, msAt400 = 0, msAt4000 = 0] = timed.map((medians) => Math.min(...medians));
    return { name: variant.name, savesPerIteration, msAt10, msAt400, msAt4000 };
  } finally {
    await longest.end();
    await checkpointer?.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** An agent that makes one iteration when it is told to. */
class SteppedAgent {
  saves = 0;
  readonly #run: ReturnType<CoreAgent["run"]>;
  readonly #counting: Promise<void>;
  #answer: (part: "call" | "end") => void = () => undefined;
  #asked: () => void = () => undefined;
  #whenAsked: Promise<void>;

  constructor(variant: Variant, checkpointer: Checkpointer | undefined, threadId: string, texts: readonly string[]) {
    this.#whenAsked = this.#nextQuestion();
    const work = tool({
      name: "work",
      inputSchema: { type: "object" },
      effect: variant.effect,
      execute: (input) => texts[(input as { n: number }).n % texts.length],
    });
    const agent = new CoreAgent({
      model: async () => this.#model(),
      tools: [work],
      maxIterations: Number.MAX_SAFE_INTEGER,
      ...(variant.every !== undefined && { checkpointEveryNIterations: variant.every }),
      ...(checkpointer !== undefined && { checkpointer: async () => checkpointer }),
    });
    this.#run = agent.run("go", checkpointer === undefined ? {} : { threadId });
    this.#counting = this.#count();
  }

  /** How long it took from the model's answer to the next question. */
  async step(): Promise<number> {
    await this.#whenAsked;
    this.#whenAsked = this.#nextQuestion();
    const began = performance.now();
    this.#answer("call");
    await this.#whenAsked;
    return performance.now() - began;
  }

  async end(): Promise<void> {
    await this.#whenAsked;
    this.#answer("end");
    await this.#run;
    await this.#counting;
  }

  #nextQuestion(): Promise<void> {
    return new Promise((resolve) => {
      this.#asked = resolve;
    });
  }

  #model(): Model {
    let n = 0;
    const ask = (): Promise<"call" | "end"> =>
      new Promise((resolve) => {
        this.#answer = resolve;
        this.#asked();
      });
    return {
      id: "no time",
      async *stream() {
        const answer = await ask();
        if (answer === "call") {
          yield { type: "tool-call", id: `call-${++n}`, name: "work", argumentsText: `{"n":${n}}` };
        } else yield { type: "text-delta", part: 0, text: "done" };
        yield { type: "finish", reason: "stop", usage: NO_USAGE };
      },
    };
  }

  async #count(): Promise<void> {
    for await (const event of this.#run) if (event.type === "checkpoint-saved") this.saves++;
  }
}

if (process.argv[1] === import.meta.filename) console.log(await benchAgent({ rounds: 3, seed: 1 }));
