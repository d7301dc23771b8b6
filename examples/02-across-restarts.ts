/**
 * A conversation that continues in another process: this file starts itself twice.
 * Then: what `checkpointEveryNIterations` saves, and when.
 *
 *   npx tsx examples/02-across-restarts.ts
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Agent, tool } from "holdfast";
import { FileCheckpointer } from "holdfast/file";
import { MemoryCheckpointer } from "holdfast/memory";
import { ruleModel, scriptedModel } from "holdfast/testing";

/** The whole program of each process. */
async function say(directory: string, prompt: string): Promise<void> {
  const model = ruleModel([
    { when: /I'm (\w+)/, answer: ({ match }) => `Nice to meet you, ${match?.[1]}.` },
    { when: /Who am I/, answer: ({ earlier }) => /I'm (\w+)/.exec(earlier.join("\n"))?.[1] ?? "I do not know." },
  ]);
  const agent = new Agent({ model, checkpointer: new FileCheckpointer({ directory }) });
  const { text, state } = await agent.run(prompt, { threadId: "t1" });
  console.log(`  process ${process.pid}: "${prompt}" → "${text}" (${state.messages.length} messages)`);
}

async function inAnotherProcess(...words: readonly string[]): Promise<void> {
  const [code] = await once(fork(fileURLToPath(import.meta.url), words), "exit");
  if (code !== 0) throw new Error(`the process ended with ${code}`);
}

/** Ten look-ups, one after another, and an answer: eleven iterations. */
async function countCheckpoints(checkpointEveryNIterations: number | "end"): Promise<number> {
  const lookUp = tool({ name: "look_up", effect: "pure", execute: () => "42" });
  const step = { toolCalls: [{ name: "look_up" }] };
  const agent = new Agent({
    model: scriptedModel([...Array.from({ length: 10 }, () => step), "Done."]),
    tools: [lookUp],
    toolLoopThreshold: 100,
    checkpointer: new MemoryCheckpointer(),
    checkpointEveryNIterations,
  });
  let saved = 0;
  for await (const event of agent.run("Look it up.", { threadId: "t" })) if (event.type === "checkpoint-saved") saved++;
  return saved;
}

const [directory, prompt] = process.argv.slice(2);
if (directory !== undefined && prompt !== undefined) await say(directory, prompt);
else {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-restarts-"));
  try {
    console.log(`Two processes, one thread, kept in ${folder} and removed at the end`);
    await inAnotherProcess(folder, "I'm Alex.");
    await inAnotherProcess(folder, "Who am I?");
  } finally {
    await rm(folder, { recursive: true });
  }
  console.log("How often a run of eleven iterations with a pure tool is saved");
  for (const every of [1, 5, "end"] as const) {
    console.log(`  checkpointEveryNIterations: ${every} → ${await countCheckpoints(every)} checkpoints`);
  }
}
