/**
 * What a slow storage costs a run: 50 ms for each call, a model that takes 100 ms,
 * ten calls of a tool that takes 20 ms, and an answer; against the same run without a storage.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CoreAgent } from "../src/agent/agent.ts";
import { type ToolEffect, tool } from "../src/agent/tool-call/tool.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { type Model, NO_USAGE } from "../src/models/model.ts";
import { SlowLog } from "../test/agent/slow-log.ts";
import { median } from "./statistics.ts";
import { milliseconds, renderTable, times } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";

const CALL_MS = 50;
const MODEL_MS = 100;
const TOOL_MS = 20;
const ITERATIONS = 10;

export interface SlowStoreMeasurement {
  readonly name: string;
  readonly ms: number;
  readonly appends: number;
}

/** Prints a table; the rows and the verdicts are for bench/results. */
export async function benchSlowStore({ rounds }: { readonly rounds: number }): Promise<{
  readonly measurements: readonly SlowStoreMeasurement[];
  readonly verdicts: readonly Verdict[];
}> {
  const effects: readonly ToolEffect[] = ["pure", "atMostOnce"];
  const measurements: SlowStoreMeasurement[] = [];
  const verdicts: Verdict[] = [];
  for (const effect of effects) {
    const [without, stored]: [number[], number[]] = [[], []];
    let appends = 0;
    for (let round = 0; round < rounds; round++) {
      without.push((await measure(effect, undefined)).ms);
      const measured = await measure(effect, new SlowLog(CALL_MS));
      stored.push(measured.ms);
      ({ appends } = measured);
    }
    const name = effect === "pure" ? "pure tools" : "tools with effects";
    measurements.push({ name: `${name}, no storage`, ms: median(without), appends: 0 });
    measurements.push({ name, ms: median(stored), appends });
    const [ratio, limit] = [median(stored) / median(without), effect === "pure" ? 1.12 : 1.5];
    const target = `a run with ${name} at ${CALL_MS} ms a call at most ${limit}x one without a storage`;
    verdicts.push(verdict(target, limit, ratio, times(ratio)));
  }
  const rows = measurements.map(({ name, ms, appends }) => [name, milliseconds(ms), String(appends)]);
  console.log(
    `\nA run of ${ITERATIONS} calls, a storage of ${CALL_MS} ms a call, a model of ${MODEL_MS} ms, ${rounds} rounds\n\n${renderTable(["", "run", "appends"], rows)}`,
  );
  return { measurements, verdicts };
}

async function measure(effect: ToolEffect, log: SlowLog | undefined): Promise<{ ms: number; appends: number }> {
  const checkpointer = log && new Checkpointer(log);
  const work = tool({
    name: "work",
    inputSchema: { type: "object" },
    effect,
    execute: async () => {
      await sleep(TOOL_MS);
      return "done";
    },
  });
  const agent = new CoreAgent({
    model: async () => slowModel(),
    tools: [work],
    ...(checkpointer !== undefined && { checkpointer: async () => checkpointer }),
  });
  const began = performance.now();
  await agent.run("go", checkpointer === undefined ? {} : { threadId: "t" });
  return { ms: performance.now() - began, appends: log?.appends ?? 0 };
}

function slowModel(): Model {
  let asked = 0;
  return {
    id: "slow",
    async *stream() {
      await sleep(MODEL_MS);
      const n = ++asked;
      if (n > ITERATIONS) yield { type: "text-delta", part: 0, text: "done" };
      else yield { type: "tool-call", id: `call-${n}`, name: "work", argumentsText: `{"n":${n}}` };
      yield { type: "finish", reason: "stop", usage: NO_USAGE };
    },
  };
}

if (process.argv[1] === import.meta.filename) console.log(await benchSlowStore({ rounds: 3 }));
