/**
 * A person decides, in another process, hours later. This file starts itself:
 * one process asks for two transfers and ends; the next one answers.
 *
 *   npx tsx examples/05-human-approval.ts
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Agent, AgentState, pendingIn, StateError, tool } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { ruleModel } from "holdfast/testing";

const threadId = "payments";

const model = ruleModel([
  {
    when: /pay/i,
    toolCalls: [
      { name: "transfer", arguments: { to: "Ines", amount: 900 } },
      { name: "transfer", arguments: { to: "Bob", amount: 50 } },
    ],
    answer: ({ results }) => results.map(({ text }) => text).join(" "),
  },
]);

const transfer = tool({
  name: "transfer",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  needsApproval: true,
  execute: (input) => {
    const { to, amount } = input as { to: string; amount: number };
    return `Sent ${amount} to ${to}.`;
  },
});

async function ask(path: string): Promise<void> {
  await using checkpointer = sqliteCheckpointer({ path });
  const agent = new Agent({ model, tools: [transfer], checkpointer });
  const { stopReason, pending } = await agent.run("Pay Ines and Bob.", { threadId });
  console.log(`Process ${process.pid} ended its run: ${stopReason}`);
  for (const { id, question } of pending) console.log(`  ${id}  ${question}`);
}

async function answer(path: string): Promise<void> {
  await using checkpointer = sqliteCheckpointer({ path });
  const agent = new Agent({ model, tools: [transfer], checkpointer });
  console.log(`Process ${process.pid} finds the questions in the thread`);
  const waiting = pendingIn((await checkpointer.load(threadId)) ?? AgentState.create());
  const [first, second] = waiting.map(({ id }) => id);
  if (first === undefined || second === undefined) throw new Error("two questions were expected");

  const edited = { decision: "edit", arguments: { to: "Ines", amount: 90 } };
  const half = await agent.answer({ threadId, id: first, response: edited });
  console.log(`  one answered, with 90 instead of 900: ${half.stopReason}, ${half.pending.length} left`);

  const denied = { decision: "deny", reason: "Bob was paid in cash" };
  const whole = await agent.answer({ threadId, id: second, response: denied });
  console.log(`  both answered: ${whole.stopReason}\n  agent: ${whole.text}`);

  try {
    await agent.answer({ threadId, id: first, response: { decision: "approve" } });
  } catch (error) {
    if (!StateError.is(error, "CONFLICT")) throw error;
    console.log(`  a second answer is refused: ${error.message}`);
  }
}

async function inAnotherProcess(...words: readonly string[]): Promise<void> {
  const [code] = await once(fork(fileURLToPath(import.meta.url), words), "exit");
  if (code !== 0) throw new Error(`the process ended with ${code}`);
}

const [role, path = ""] = process.argv.slice(2);
if (role === "ask") await ask(path);
else if (role === "answer") await answer(path);
else {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-approval-"));
  try {
    await inAnotherProcess("ask", join(folder, "agents.db"));
    await inAnotherProcess("answer", join(folder, "agents.db"));
  } finally {
    await rm(folder, { recursive: true });
  }
}
