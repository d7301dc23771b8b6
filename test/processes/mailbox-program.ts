/**
 * mailbox-program <url> <effects file>
 *
 * Runs the thread `t` whenever something waits in its mailbox or its turn is not
 * over, until it is told to end. Its tool acts once for each turn that asks for it.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { CoreAgent } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { StateError } from "../../src/errors.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { openShared } from "./shared-storage.ts";
import { listen, say } from "./speaking.ts";

const [url = "", effectsPath = ""] = process.argv.slice(2);
const checkpointer = await openShared(url);
let isOver = false;
void listen().then(() => {
  isOver = true;
});

const note = tool({
  name: "note",
  execute: (_, { idempotencyKey }) => {
    appendFileSync(effectsPath, `${idempotencyKey}\n`);
    return "noted";
  },
});
const agent = new CoreAgent({
  model: async () =>
    scriptedModel(
      Array.from({ length: 100_000 }, () => ({ messages }) => {
        const hasNoted = messages.at(-1)?.role === "tool";
        return hasNoted ? "ok" : { toolCalls: [{ name: "note" }] };
      }),
    ),
  tools: [note],
  checkpointer: async () => checkpointer,
  lease: { ttlMs: 2000 },
});

/** Whether there is nothing to do. A storage that does not answer in time is asked again. */
async function isQuiet(): Promise<boolean> {
  try {
    const last = (await checkpointer.load("t"))?.messages.at(-1);
    const isTurnOver = last === undefined || (last.role === "assistant" && (last.toolCalls ?? []).length === 0);
    return isTurnOver && (await checkpointer.signals("t")).length === 0;
  } catch (error) {
    if (StateError.is(error, "TIMEOUT")) return true;
    throw error;
  }
}

say("ready");
while (!isOver) {
  if (await isQuiet()) {
    await sleep(10);
    continue;
  }
  // Refused where another process runs the thread: that one takes the mail in.
  await agent.run(undefined, { threadId: "t", whenBusy: "reject" }).catch(() => sleep(10));
}
await agent.close();
await checkpointer.close();
process.disconnect();
