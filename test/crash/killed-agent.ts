import { join } from "node:path";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { openLogOnDisk } from "../processes/disk-backends.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import type { AgentPrograms } from "./agent-programs.ts";
import { effectsInFile } from "./effects.ts";
import { live, RETURNS } from "./life.ts";
import type { Store, StoreName } from "./stores.ts";
import { KINDS, type Story } from "./story.ts";
import { nothingTold } from "./told.ts";
import { judge } from "./verdict.ts";

/** More points than any story has: some processes are to come to their end alive. */
const LAST_POINT = 110;

let threads = 0;

/**
 * A process that is really killed (SIGKILL) at a random await point, and this
 * process, which finds what it left on the disk and brings it to its end.
 * Returns where it was killed, or `undefined` when it came to its end first.
 */
export async function killAgent(
  programs: AgentPrograms,
  store: Store,
  backend: Exclude<StoreName, "memory">,
  random: SeededRandom,
): Promise<string | undefined> {
  const story: Story = { kind: pick(KINDS, random), tools: pick([1, 3], random), every: pick([1, "end"], random) };
  const back = pick(RETURNS, random);
  const cut = 1 + random.below(LAST_POINT);
  const threadId = `killed ${++threads}`;
  const effects = effectsInFile(join(store.directory, `effects-${threads}.jsonl`));
  const args = [backend, store.directory, threadId, join(store.directory, `effects-${threads}.jsonl`)];
  const child = programs.start("dying-agent", [...args, JSON.stringify(story), String(cut)]);
  const { code, signal } = await child.ended();
  const [last] = child.said as readonly { stoppedAt?: string; faults?: string[] }[];
  try {
    if (signal !== "SIGKILL" && code !== 0) throw new Error(`the process ended with ${code}, ${signal}`);
    const log = openLogOnDisk(backend, store.directory);
    const checkpointer = new Checkpointer(log);
    const found = await checkpointer.load(threadId);
    const faults = [...(last?.faults ?? [])];
    const told = nothingTold();
    // The process that was killed answered these.
    for (const { id, answer } of found?.interrupts ?? []) if (answer !== undefined) told.answered.add(id);
    const world = { point: async () => undefined, effects, faults, told };
    await live({ story, world, log, threadId }, back);
    const final = await checkpointer.load(threadId);
    judge({ story, back, effects: effects.all(), faults, found: [found], final });
    await checkpointer.close();
  } catch (error) {
    const what = JSON.stringify({ backend, story, back, cut, stoppedAt: last?.stoppedAt, directory: store.directory });
    throw new Error(`${what}: ${String(error)}`, { cause: error });
  }
  return last?.stoppedAt;
}

const pick = <T>(choices: readonly T[], random: SeededRandom): T => choices[random.below(choices.length)]!;
