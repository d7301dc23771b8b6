/**
 * The program that the demo runs in each of its processes, and that you can run
 * on the folder it leaves behind:
 *
 *   npx tsx examples/demo/on-call.ts ask <folder> "What did I say about the deploy?"
 *   npx tsx examples/demo/on-call.ts resume <folder>
 *   npx tsx examples/demo/on-call.ts history <folder>
 */
import { Agent, type Checkpointer, type Run, textOf } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { ruleModel } from "holdfast/testing";
import { onCallTools } from "./on-call-tools.ts";
import { storePath, THREAD_ID } from "./story.ts";

/** What the user said of the incident, taken out of the conversation that the model was sent. */
const SPIKE = /p99 on (\S+) spiked at (\S+)\. The deploy at (\S+)/;

/** Rules in place of a provider, so that the demo needs no key. "openai:gpt-5" would do in its place. */
const model = ruleModel([
  {
    when: SPIKE,
    toolCalls: ({ match }) => [
      { name: "page_owner", arguments: { service: match?.[1] } },
      { name: "roll_back_deploy", arguments: { service: match?.[1], deployedAt: match?.[3] } },
    ],
    answer: ({ match, results }) =>
      `About ${match?.[1]}: ${results.map(({ text }) => text).join(" ")} Watch p99 for the next ten minutes.`,
  },
  {
    when: /like that/,
    toolCalls: ({ earlier }) => [
      { name: "search_incidents", arguments: { service: SPIKE.exec(earlier.join("\n"))?.[1] } },
    ],
    answer: ({ recall, results }) => `You told me: "${recall("p99 deploy")}" Before that: ${results[0]?.text}`,
  },
  { when: /did I (say|tell)/, answer: ({ recall }) => `You said: "${recall() ?? "nothing yet"}"` },
]);

/** Says what happens while it happens, and tells the parent process, if there is one, how each tool ended. */
async function narrate(run: Run): Promise<void> {
  const begun = new Set<string>();
  for await (const event of run) {
    if (event.type === "tool-start") {
      begun.add(event.toolCallId);
      console.log(`  tool    ${event.toolName} ${JSON.stringify(event.arguments)} begins`);
    }
    if (event.type === "tool-end") {
      const how = begun.has(event.toolCallId) ? "" : ", without being run again: verify() found it done";
      console.log(`  tool    ${event.toolName} ${event.status}${how}`);
      process.send?.({ ended: event.toolName });
    }
    if (event.type === "message" && event.message.role === "assistant") {
      const text = textOf(event.message);
      if (text !== "") console.log(`  agent   ${text.replaceAll("\n", "\n          ")}`);
    }
  }
}

async function ask(agent: Agent, prompt: string): Promise<void> {
  console.log(`  user    ${prompt}`);
  await narrate(agent.run(prompt, { threadId: THREAD_ID }));
}

async function showHistory(checkpointer: Checkpointer): Promise<void> {
  for await (const { seq, createdAt, messageCount, bytes } of checkpointer.history(THREAD_ID)) {
    console.log(`  ${seq}  ${createdAt?.toISOString()}  ${messageCount} messages  +${bytes} bytes`);
  }
}

const [what, folder = ".", ...words] = process.argv.slice(2);
await using checkpointer = sqliteCheckpointer({ path: storePath(folder) });
const agent = new Agent({
  model,
  tools: onCallTools(folder),
  systemPrompt: "You are an on-call SRE assistant. Be concise.",
  checkpointer,
});
if (what === "history") await showHistory(checkpointer);
if (what === "resume") await narrate(agent.run(undefined, { threadId: THREAD_ID }));
if (words.length > 0) await ask(agent, words.join(" "));
