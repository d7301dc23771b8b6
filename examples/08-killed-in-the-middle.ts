/**
 * A process is killed (SIGKILL) while four tools run. The next process resumes
 * the thread; what happens to each call follows from the tool's `effect`.
 *
 *   npx tsx examples/08-killed-in-the-middle.ts
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Agent, type Tool, type ToolContext, tool } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { ruleModel } from "holdfast/testing";

const TOOLS = ["read_metrics", "set_flag", "send_letter", "send_money"] as const;

/** What the tools do to the world: one line for each attempt, kept outside the store. */
interface Effect {
  readonly tool: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
}

const outside = (folder: string): string => join(folder, "outside-world.log");

async function effects(folder: string): Promise<readonly Effect[]> {
  const text = await readFile(outside(folder), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Effect);
}

/** `hangs` makes each tool take effect and then not return: that is when the process is killed. */
function tools(folder: string, hangs: boolean): readonly Tool[] {
  const act = async (name: string, { idempotencyKey, attempt }: ToolContext): Promise<string> => {
    await appendFile(outside(folder), `${JSON.stringify({ tool: name, idempotencyKey, attempt })}\n`);
    if (hangs) await sleep(60_000);
    return `${name} done`;
  };
  return [
    tool({ name: "read_metrics", effect: "pure", execute: (_, context) => act("read_metrics", context) }),
    tool({ name: "set_flag", effect: "idempotent", execute: (_, context) => act("set_flag", context) }),
    tool({ name: "send_letter", effect: "atMostOnce", execute: (_, context) => act("send_letter", context) }),
    tool({
      name: "send_money",
      effect: "atMostOnce",
      execute: (_, context) => act("send_money", context),
      // Asks the service that was called: the bank can tell by the key whether it was
      // done.
      verify: async (_, { idempotencyKey }) => {
        const known = (await effects(folder)).some((effect) => effect.idempotencyKey === idempotencyKey);
        return known ? { outcome: "done", result: "send_money done" } : { outcome: "not-done" };
      },
    }),
  ];
}

async function run(folder: string, prompt: string | undefined): Promise<void> {
  await using checkpointer = sqliteCheckpointer({ path: join(folder, "agents.db") });
  const model = ruleModel([
    {
      when: /everything/,
      toolCalls: TOOLS.map((name) => ({ name })),
      answer: ({ results }) => results.map(({ toolName, text }) => `\n    ${toolName}: ${text}`).join(""),
    },
  ]);
  const agent = new Agent({ model, tools: tools(folder, prompt !== undefined), checkpointer });
  const { text, state } = await agent.run(prompt, { threadId: "t1" });
  console.log(`  the model was told:${text}`);
  const world = await effects(folder);
  for (const { toolName, status, attempts } of state.toolExecutions) {
    const done = world.filter((effect) => effect.tool === toolName);
    const keys = new Set(done.map(({ idempotencyKey }) => idempotencyKey)).size;
    console.log(
      `  ${toolName.padEnd(12)} ${status.padEnd(9)} attempts: ${attempts}, effects: ${done.length}, keys: ${keys}`,
    );
  }
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-killed-"));
  try {
    const first = fork(fileURLToPath(import.meta.url), [folder, "Do everything."]);
    while ((await effects(folder)).length < TOOLS.length && first.exitCode === null) await sleep(20);
    first.kill("SIGKILL");
    await once(first, "exit");
    console.log(`Process ${first.pid} was killed by ${first.signalCode} while ${TOOLS.length} tools were running`);

    const second = fork(fileURLToPath(import.meta.url), [folder]);
    console.log(`Process ${second.pid} resumes the thread without a prompt`);
    const [code] = await once(second, "exit");
    process.exitCode = code as number;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const [folder, prompt] = process.argv.slice(2);
await (folder === undefined ? main() : run(folder, prompt));
