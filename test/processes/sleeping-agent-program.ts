/**
 * sleeping-agent-program <url> <first thread> <number of threads> <effects file> <ttlMs>
 *
 * Runs an agent with one tool on each thread in turn, and stops itself right
 * after the claim of the call was saved, for as long as the parent likes: the
 * tool is the next thing that it would do. Says how each run ended.
 */
import { appendFileSync } from "node:fs";
import { CoreAgent } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { StateError } from "../../src/errors.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { openSharedLog } from "./shared-storage.ts";
import { say } from "./speaking.ts";

const [url = "", first, count, effectsPath = "", ttlMs] = process.argv.slice(2);
const log = openSharedLog(url);
const append = log.append.bind(log);
const onlooker = new Checkpointer(openSharedLog(url));
let isClaiming = false;
log.append = async (...call) => {
  const outcome = await append(...call);
  if (isClaiming && (await isBegun(call[0]))) {
    isClaiming = false;
    say("stopping");
    process.kill(process.pid, "SIGSTOP");
  }
  return outcome;
};

/** A sign of life is a write, too: the claim is the one after which the call counts as begun. */
async function isBegun(threadId: string): Promise<boolean> {
  const state = await onlooker.load(threadId);
  return state?.toolExecutions.some(({ status }) => status === "started") ?? false;
}

const checkpointer = new Checkpointer(log);
const pay = tool({
  name: "pay",
  execute: (_, { threadId }) => appendFileSync(effectsPath, `${threadId} by the sleeper\n`),
  verify: () => ({ outcome: "not-done" }),
});

for (let index = Number(first); index < Number(first) + Number(count); index++) {
  const agent = new CoreAgent({
    model: async () => scriptedModel([{ toolCalls: [{ name: "pay", id: "c" }] }, "ready"]),
    tools: [pay],
    checkpointer: async () => checkpointer,
    lease: { ttlMs: Number(ttlMs) },
    hooks: { beforeTool: () => (isClaiming = true) },
  });
  await agent.run("go", { threadId: `t${index}` }).then(
    ({ stopReason }) => say({ ended: stopReason }),
    (error: unknown) => say({ ended: StateError.is(error) ? error.code : String(error) }),
  );
}
await checkpointer.close();
await onlooker.close();
process.disconnect();
