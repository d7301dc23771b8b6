import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { newId } from "../../src/driver/ids.ts";
import { StateError } from "../../src/errors.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { listen, say } from "./speaking.ts";

/**
 * One of two clones of a machine: all its randomness is the same in both. It loads the thread, says which id it drew,
 * and saves or sends one message more when it is told to, or
 * has a tool called on a thread of its own.
 */
const [url = "", text = ""] = process.argv.slice(2);

let drawn = 0;
/** Node's own functions: `import` has the same object as the code that is tried here. */
const mutable = crypto as { -readonly [Name in "randomFillSync" | "randomUUID"]: unknown };
mutable.randomFillSync = (target: Buffer): Buffer => {
  const stream = crypto.createHash("shake256", { outputLength: target.byteLength });
  target.set(stream.update(`draw ${++drawn}`).digest());
  return target;
};
mutable.randomUUID = () => "6f1c5a52-9d1f-4c6e-8d3a-0f6f3f1f7a10";
syncBuiltinESMExports();

/** The key under which a tool of an agent on the thread would do something at another service. */
async function keyOfCall(threadId: string): Promise<string> {
  let key = "";
  const pay = tool({ name: "pay", execute: (_, { idempotencyKey }) => (key = idempotencyKey) });
  const model = scriptedModel([{ toolCalls: [{ id: "call", name: "pay" }] }, "paid"]);
  await new Agent({ model, tools: [pay], checkpointer }).run("Pay", { threadId });
  return key;
}

/** The key of a call that has not begun, in a fork of its own. */
async function keyOfFork(target: string): Promise<string | undefined> {
  await checkpointer.fork("with a call", target, { openCalls: "keep" });
  return (await checkpointer.load(target))?.toolExecutions[0]?.idempotencyKey;
}

const checkpointer = await openCheckpointer(url);
const state = (await checkpointer.load("t")) as AgentState;
say(newId());
for (let told = await listen(); told !== "end"; told = await listen()) {
  try {
    if (told === "save") await checkpointer.save(state.withMessage(userMessage(text, { id: "m" })), "t");
    const isRepeated = told === "send" && (await checkpointer.send("t", { message: text })).isRepeated;
    if (told === "fork") say(await keyOfFork(`fork ${text}`));
    else if (told === "call") say(await keyOfCall(text));
    else say(told === "save" ? "saved" : isRepeated ? "repeated" : "sent");
  } catch (error) {
    say(StateError.is(error) ? error.code : String(error));
  }
}
await checkpointer.close();
process.disconnect();
