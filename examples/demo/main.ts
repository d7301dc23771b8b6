/**
 * `npm start`: an on-call agent is killed in the middle of a rollback, and
 * another process finishes its turn. Needs no network, no key and no service.
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type AgentState, textOf } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { outsideWorldPath, readEffects } from "./outside-world.ts";
import { INCIDENT, QUESTION, storePath, THREAD_ID } from "./story.ts";

const PROGRAM = fileURLToPath(new URL("on-call.ts", import.meta.url));

/** Begins the turn in a process of its own, and kills that process while the rollback is running. */
async function beginAndKill(folder: string): Promise<void> {
  const startedAt = performance.now();
  const child = fork(PROGRAM, ["ask", folder, INCIDENT]);
  console.log(`Process ${child.pid} begins the thread "${THREAD_ID}"`);
  try {
    await untilInTheMiddle(child, folder);
  } finally {
    child.kill("SIGKILL");
  }
  const killedAt = new Date().toISOString();
  await once(child, "exit");
  assert.equal(child.signalCode, "SIGKILL", "the process must have been killed, not have ended");
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `  killed  by SIGKILL at ${killedAt}, ${seconds} s after its start, while roll_back_deploy was running\n`,
  );
}

/** The owner is paged and that is settled; the rollback has taken effect and has not returned. */
async function untilInTheMiddle(child: ChildProcess, folder: string): Promise<void> {
  let isPaged = false;
  child.on("message", (message) => {
    isPaged ||= (message as { ended?: string }).ended === "page_owner";
  });
  const deadline = performance.now() + 30_000;
  while (!isPaged || (await readEffects(folder)).length < 2) {
    assert.equal(child.exitCode, null, "the process ended before it could be killed");
    assert.ok(performance.now() < deadline, "the tools did not begin within 30 s");
    await sleep(10);
  }
}

/** A fresh process with a fresh Agent: finishes the turn without a prompt, then is asked about it. */
async function resumeAndAsk(folder: string): Promise<void> {
  const child = fork(PROGRAM, ["resume", folder, QUESTION]);
  console.log(`Process ${child.pid} resumes it: a fresh Agent that knows only the thread id`);
  const [code] = await once(child, "exit");
  assert.equal(code, 0, `process ${child.pid} ended with ${code}`);
}

async function showOutsideWorld(folder: string): Promise<void> {
  const effects = await readEffects(folder);
  console.log("\nWhat happened in the world, by the pager's and the deploy system's own books");
  for (const { at, what, byProcess } of effects) console.log(`  ${at}  ${what} (process ${byProcess})`);
  assert.equal(effects.length, 2, "each effect must have happened once");
  assert.equal(new Set(effects.map(({ what }) => what)).size, 2, "each effect must have happened once");
}

function showLedger({ toolExecutions }: AgentState): void {
  console.log("\nWhat the thread's ledger says");
  for (const { toolName, status, attempts } of toolExecutions) {
    console.log(`  ${toolName.padEnd(18)} ${status}, ${attempts} attempt${attempts === 1 ? "" : "s"}`);
  }
  const statuses = toolExecutions.map(({ toolName, status }) => `${toolName} ${status}`);
  assert.deepEqual(statuses.slice(0, 2), ["page_owner succeeded", "roll_back_deploy succeeded"]);
}

async function showStore(folder: string): Promise<void> {
  await using checkpointer = sqliteCheckpointer({ path: storePath(folder) });
  const state = await checkpointer.load(THREAD_ID);
  const stats = await checkpointer.stats(THREAD_ID);
  assert.ok(state !== undefined && stats !== undefined, "the thread must be there");
  const last = state.messages.at(-1);
  assert.ok(last !== undefined && textOf(last).includes("14:02"), "the second process must recall the first turn");
  showLedger(state);
  console.log(`
Where it lies
  ${storePath(folder)}: ${stats.checkpoints} checkpoints, ${stats.messages} messages, ${stats.bytes} bytes
  ${outsideWorldPath(folder)}: what the tools did`);
}

function showNext(folder: string): void {
  const program = relative(process.cwd(), PROGRAM);
  const killed = relative(process.cwd(), fileURLToPath(new URL("../08-killed-in-the-middle.ts", import.meta.url)));
  console.log(`
Try next
  npx tsx ${program} ask ${folder} "What did I say about the deploy?"
  npx tsx ${program} history ${folder}
  npx tsx ${killed}
  rm -r ${folder}

See it in a browser
  npm run studio -- sqlite:${storePath(folder)}`);
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-demo-"));
console.log("An on-call agent is killed in the middle of a rollback\n");
await beginAndKill(folder);
await resumeAndAsk(folder);
await showOutsideWorld(folder);
await showStore(folder);
showNext(folder);
