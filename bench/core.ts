/**
 * What this package itself costs, above any storage: the processor's time of a save and
 * of a cold load in memory. Processor time and the least of many short rounds, because
 * any other load on the machine only adds to it. A round of loads is long enough for
 * the collection of its own garbage, and so is one of `JSON.parse`: alone, a parse of
 * 4,000 messages leaves that to the next measurement.
 */
import { MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { keepLimits, type LimitRow, limit } from "./limits.ts";
import { renderTable, times } from "./table.ts";
import { coreVerdicts, type Verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

export interface CoreResult {
  readonly save: { readonly microseconds: number };
  readonly loads: readonly CoreLoad[];
  readonly verdicts: readonly Verdict[];
}

export interface CoreLoad {
  readonly messages: number;
  readonly loadMs: number;
  /** `JSON.parse` of the whole state as one text. */
  readonly parseMs: number;
}

const SIZES = [400, 4000];
const SAVES = 400;
const MESSAGES_A_ROUND = 16_000;
const ROUNDS_OF_LOADS = 30;

export async function benchCore({ seed }: { readonly seed: number }): Promise<CoreResult> {
  const loads: CoreLoad[] = [];
  for (const messages of SIZES) loads.push(await loadOf(seed, messages));
  const save = { microseconds: await saveOf(seed) };
  const rows = loads.map(({ messages, loadMs, parseMs }) => [
    `load of ${messages} messages`,
    `${loadMs.toFixed(2)} ms`,
    `${parseMs.toFixed(2)} ms`,
    times(loadMs / parseMs),
  ]);
  console.log(`\n${renderTable(["", "processor time", "JSON.parse", "ratio"], rows)}`);
  console.log(`\na save, with adding its message: ${save.microseconds.toFixed(1)} µs of processor time`);
  const verdicts = coreVerdicts(save.microseconds, loads);
  keepLimits("core", limitsOf(verdicts));
  return { save, loads, verdicts };
}

/** In the order of `coreVerdicts`. */
const LINES = [
  ["CPU of a save above the driver (1 KB message, warm, memory)", "with the driver and with adding the message"],
  [
    "a load of 400 messages / JSON.parse of the state, memory",
    "the checksum and its text are a third, parsing and garbage a fifth each",
  ],
  [
    "a load of 4,000 messages / JSON.parse of the state, memory",
    "the same; each pays for its own garbage, which survives more collections than that of 400",
  ],
] as const;

const limitsOf = (verdicts: readonly Verdict[]): readonly LimitRow[] =>
  verdicts.flatMap(({ shown, met }, index) => {
    const [what, reason] = LINES[index] ?? [];
    return what === undefined ? [] : [limit(what, shown, met, reason)];
  });

async function loadOf(seed: number, messages: number): Promise<CoreLoad> {
  const checkpointer = new MemoryCheckpointer({ cacheBytes: 0 });
  let state = AgentState.create();
  for (const message of conversation(seed, messages)) {
    state = state.withMessage(message);
    await checkpointer.save(state, "thread");
  }
  const text = JSON.stringify(state.toCheckpoint());
  const loadMs = await leastOfRepeated(messages, () => checkpointer.load("thread"));
  return { messages, loadMs, parseMs: await leastOfRepeated(messages, async () => JSON.parse(text)) };
}

async function saveOf(seed: number): Promise<number> {
  const checkpointer = new MemoryCheckpointer();
  const messages = conversation(seed, SAVES);
  let round = 0;
  const all = await leastOf(40, async () => {
    const threadId = `thread ${round++}`;
    let state = AgentState.create();
    for (const message of messages) {
      state = state.withMessage(message);
      await checkpointer.save(state, threadId);
    }
  });
  return (all * 1000) / SAVES;
}

/** The least of many repetitions. */
async function leastOfRepeated(messages: number, work: () => Promise<unknown>): Promise<number> {
  const repetitions = MESSAGES_A_ROUND / messages;
  const all = await leastOf(ROUNDS_OF_LOADS, async () => {
    for (let repeated = 0; repeated < repetitions; repeated++) await work();
  });
  return all / repetitions;
}

/** In milliseconds of the processor, all threads of the process together. */
async function leastOf(rounds: number, work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
