import crypto from "node:crypto";
import { openCheckpointer } from "../../src/backends/open.ts";
import { newId } from "../../src/driver/ids.ts";
import { StateError } from "../../src/errors.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { listen, say } from "./speaking.ts";

/**
 * One of two clones of a machine: all its randomness is the same in both. It loads the thread, says which id it drew,
 * and saves one message more when it is told to.
 */
const [url = "", text = ""] = process.argv.slice(2);

let drawn = 0;
/** Node's own function: `import` has the same object as the code that is tried here. */
const mutable = crypto as { -readonly [Name in "randomFillSync"]: unknown };
mutable.randomFillSync = (target: Buffer): Buffer => {
  const stream = crypto.createHash("shake256", { outputLength: target.byteLength });
  target.set(stream.update(`draw ${++drawn}`).digest());
  return target;
};

const checkpointer = await openCheckpointer(url);
const state = (await checkpointer.load("t")) as AgentState;
say(newId());
await listen();
try {
  await checkpointer.save(state.withMessage(userMessage(text, { id: "m" })), "t");
  say("saved");
} catch (error) {
  say(StateError.is(error) ? error.code : String(error));
}
await checkpointer.close();
process.disconnect();
