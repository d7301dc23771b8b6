/** What users of the package write, in the forms that runtimes and compilers take. */

/** A thread on disk, saved by one agent and continued by another. */
const BODY = `
const url = process.argv[2] ?? "memory:";
const model = ruleModel([{ when: /(.*)/, answer: ({ match }) => "You said: " + match?.[1] }]);
const first = new Agent({ model, checkpointer: url });
await first.run("hello", { threadId: "t" });
await first.close?.();
const checkpointer = await openCheckpointer(url);
const state = await checkpointer.load("t");
await checkpointer.close();
if (!url.startsWith("memory:") && state?.messages.length !== 2) throw new Error("the thread was not there");
console.log("ok");
`;

export const ESM_PROGRAM: string = `
import { Agent, openCheckpointer } from "holdfast";
import { ruleModel } from "holdfast/testing";
${BODY}`;

export const COMMONJS_PROGRAM: string = `
const { Agent, openCheckpointer } = require("holdfast");
const { ruleModel } = require("holdfast/testing");
(async () => {${BODY}})();
`;

/** Names of every entry, used so that a compiler looks at all their declarations. */
export const typescriptProgram = (entries: readonly string[]): string => `
${entries.map((entry, index) => `import * as entry${index} from ${JSON.stringify(entry)};`).join("\n")}
import { Agent, AgentState, tool, userMessage } from "holdfast";
import { MemoryCheckpointer } from "holdfast/memory";
import { ruleModel } from "holdfast/testing";

export const entries: readonly object[] = [${entries.map((_, index) => `entry${index}`).join(", ")}];
export async function main(): Promise<string> {
  const checkpointer = new MemoryCheckpointer();
  const agent = new Agent({
    model: ruleModel([{ when: /./, answer: () => "yes" }]),
    tools: [tool({ name: "now", effect: "pure", execute: () => Date.now() })],
    checkpointer,
  });
  await checkpointer.save(AgentState.create().withMessage(userMessage("hi")), "t");
  return (await agent.run("go on", { threadId: "t" })).text;
}
`;

/** An application that names its backend by URL: what a bundler has to get right. */
export const BUNDLED_PROGRAM = `
import { Agent, openCheckpointer } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";
const checkpointer = sqliteCheckpointer({ path: process.argv[2] ?? ":memory:" });
await checkpointer.listThreads();
await checkpointer.close();
const byUrl = await openCheckpointer("file:" + process.argv[3]);
await byUrl.listThreads();
console.log(typeof Agent === "function" ? "ok" : "no");
`;
