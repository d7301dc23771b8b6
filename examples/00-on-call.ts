/**
 * Two sessions, one thread. The first Agent is told about an incident; the second one,
 * built from nothing, knows about it. No line calls save or load.
 *
 *   npx tsx examples/00-on-call.ts
 *   HOLDFAST_URL=sqlite:./agents.db HOLDFAST_MODEL=openai:gpt-5 npx tsx examples/00-on-call.ts
 *
 * The store is a URL: sqlite:, file:, memory:, or a server, as in postgres://localhost:5432/agents.
 * Nothing else changes.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type BaseCheckpointer, openCheckpointer } from "holdfast";
import { ruleModel } from "holdfast/testing";

const THREAD_ID = "on-call-example";

/**
 * Stands in for a provider. It knows about the incident only if the conversation that it is sent tells it.
 */
const offlineModel = ruleModel([
  {
    when: /p99 on (\S+) spiked at (\d\d:\d\d)/,
    answer: ({ match }) => `Noted: p99 on ${match?.[1]} since ${match?.[2]}. I would roll the deploy back first.`,
  },
  {
    when: /like that/,
    answer: ({ recall }) => `You told me: "${recall() ?? "nothing yet"}" Nothing else like it is in this thread.`,
  },
]);

function buildAgent(checkpointer: BaseCheckpointer): Agent {
  return new Agent({
    model: process.env["HOLDFAST_MODEL"] ?? offlineModel,
    systemPrompt:
      "You are an on-call SRE assistant. Be concise: one or two sentences per turn. Remember everything the user has told you earlier in this thread.",
    checkpointer,
    // The default, spelled out: a turn that dies in the middle continues from the last finished step.
    checkpointEveryNIterations: 1,
  });
}

async function firstSession(url: string): Promise<void> {
  console.log("\n--- Session 1: an agent is told about an incident ---");
  await using checkpointer = await openCheckpointer(url);
  const prompt = "p99 on checkout-api spiked at 14:02. The deploy at 13:58 looks suspicious.";
  const result = await buildAgent(checkpointer).run(prompt, { threadId: THREAD_ID });
  console.log(`User : ${prompt}`);
  console.log(`Agent: ${result.text}`);
  console.log(
    `  the thread has ${result.state.messages.length} messages; its newest checkpoint is ${result.checkpointId}`,
  );
  console.log(`  threads in the store: ${(await checkpointer.listThreads()).join(", ")}`);
}

async function secondSession(url: string): Promise<void> {
  console.log("\n--- Session 2: a new checkpointer, a new Agent, the same thread id ---");
  await using checkpointer = await openCheckpointer(url);
  const prompt = "Has anything like that happened in the last fortnight?";
  const result = await buildAgent(checkpointer).run(prompt, { threadId: THREAD_ID });
  console.log(`User : ${prompt}`);
  console.log(`Agent: ${result.text}`);
  console.log(`  the thread has ${result.state.messages.length} messages`);
}

const given = process.env["HOLDFAST_URL"];
const folder = given === undefined ? await mkdtemp(join(tmpdir(), "holdfast-on-call-")) : undefined;
if (folder !== undefined) {
  console.log(`HOLDFAST_URL is not set, so the threads are kept in ${folder} and removed at the end.
The wiring, with a store and a model of yours:

    import { Agent, openCheckpointer } from "holdfast";

    const checkpointer = await openCheckpointer(process.env.HOLDFAST_URL);   // sqlite:./agents.db, file:./threads
    const agent = new Agent({ model: "openai:gpt-5", checkpointer });
    await agent.run("My name is Alice.", { threadId: "t1" });
    await agent.run("What's my name?", { threadId: "t1" });                  // recalls the first turn`);
}
try {
  const url = given ?? `sqlite:${folder}/agents.db`;
  await firstSession(url);
  await secondSession(url);
} finally {
  if (folder !== undefined) await rm(folder, { recursive: true });
}
