/**
 * What the agent itself costs: one iteration (the model's answer, a tool call,
 * its result, the next request) with a model that takes no time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreAgent, type CoreAgentOptions } from "../src/agent/agent.ts";
import { type ToolEffect, tool } from "../src/agent/tool.ts";
import { MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { type Model, NO_USAGE } from "../src/models/model.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import type { Verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

const SHORT = 10;
const LONG = 400;
/** Iterations that are timed, from the shown one on. */
const WINDOW = 20;

export interface AgentMeasurement {
  readonly name: string;
  readonly savesPerIteration: number;
  readonly msAt10: number;
  readonly msAt400: number;
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
  for (const variant of VARIANTS) {
    await measure(variant, texts);
    const rounds: AgentMeasurement[] = [];
    for (let round = 0; round < plan.rounds; round++) rounds.push(await measure(variant, texts));
    measurements.push({
      name: variant.name,
      savesPerIteration: median(rounds.map(({ savesPerIteration }) => savesPerIteration)),
      msAt10: median(rounds.map(({ msAt10 }) => msAt10)),
      msAt400: median(rounds.map(({ msAt400 }) => msAt400)),
    });
  }
  const verdicts = judgeAgent(measurements);
  const rows = measurements.map(({ name, savesPerIteration, msAt10, msAt400 }) => [
    name,
    String(savesPerIteration),
    milliseconds(msAt10),
    milliseconds(msAt400),
    times(msAt400 / msAt10),
  ]);
  console.log(
    `\nOne iteration of the agent, a model that takes no time, results of 1 KB, ${plan.rounds} rounds\n\n${renderTable(["", "saves", `iteration ${SHORT}`, `iteration ${LONG}`, "growth"], rows)}`,
  );
  return { measurements, verdicts };
}

function judgeAgent(measurements: readonly AgentMeasurement[]): readonly Verdict[] {
  return measurements
    .filter(({ name }) => name === "no thread" || name === "sqlite, tool with effects")
    .map(({ name, msAt10, msAt400 }) => {
      const growth = msAt400 / msAt10;
      const target = `an iteration at ${LONG} at most 1.2x one at ${SHORT} (${name})`;
      return { target, limit: 1.2, measured: growth, shown: times(growth), met: growth <= 1.2 };
    });
}

/** A short thread and a long one take turns: whatever else the machine does meets both. */
async function measure(variant: Variant, texts: readonly string[]): Promise<AgentMeasurement> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-agent-"));
  const checkpointer = variant.open?.(directory);
  const [short, long] = [0, 1].map((number) => new SteppedAgent(variant, checkpointer, `thread ${number}`, texts));
  try {
    for (let step = 1; step < SHORT; step++) await short!.step();
    for (let step = 1; step < LONG; step++) await long!.step();
    const savesBefore = long!.saves;
    const [atShort, atLong]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < WINDOW; turn++) {
      atShort.push(await short!.step());
      atLong.push(await long!.step());
    }
    const savesPerIteration = (long!.saves - savesBefore) / WINDOW;
    return { name: variant.name, savesPerIteration, msAt10: median(atShort), msAt400: median(atLong) };
  } finally {
    await Promise.all([short!.end(), long!.end()]);
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
      maxIterations: LONG + WINDOW + 2,
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
