/** The program that `init` writes: a tool, a thread that outlives the process, and a model that needs no key. */
export const agentProgram = (
  store: string,
  model: string | undefined,
): string => `import { Agent, openCheckpointer, textOf, tool } from "holdfast";
${model === undefined ? 'import { ruleModel } from "holdfast/testing";\n' : ""}
// Says something in a thread: node agent.mjs "I'm Alex."   Then, in another process: node agent.mjs "Who am I?"
const [prompt = "What time is it?", threadId = "first"] = process.argv.slice(2);

const clock = tool({
  name: "clock",
  description: "Tells the time.",
  // It changes nothing in the world, so that it may run again after a crash.
  effect: "pure",
  execute: () => new Date().toISOString(),
});

${model === undefined ? RULES : `const model = ${JSON.stringify(model)};\n`}
const checkpointer = await openCheckpointer(${JSON.stringify(store)});
const agent = new Agent({ model, tools: [clock], checkpointer });
const { text, state } = await agent.run(prompt, { threadId });
console.log(text);
console.log(\`\${state.messages.length} messages in the thread; look at it: npx holdfast show ${store} \${threadId}\`);
for (const message of state.messages.slice(0, -2)) console.log(\`  earlier, \${message.role}: \${textOf(message)}\`);
await checkpointer.close();
`;

const RULES = `// A few rules in place of a model, so that this runs without a key. Then: const model = "anthropic:…" or "openai:…".
const model = ruleModel([
  { when: /time/i, toolCalls: [{ name: "clock" }], answer: ({ results }) => \`It is \${results[0]?.text}.\` },
  { when: /I'm (\\w+)/, answer: ({ match }) => \`Nice to meet you, \${match?.[1]}.\` },
  { when: /who am I/i, answer: ({ earlier }) => /I'm (\\w+)/.exec(earlier.join("\\n"))?.[1] ?? "I do not know." },
]);
`;
