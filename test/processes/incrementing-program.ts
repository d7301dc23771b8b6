/**
 * incrementing-program <url> <thread> <name> <increments>
 *
 * Reads the thread, adds one, saves it; when another process was faster, reads
 * it again and redoes that one. Says how often that was.
 */
import { setTimeout as pause } from "node:timers/promises";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { openShared } from "./shared-storage.ts";
import { listen, say } from "./speaking.ts";

const [url = "", thread = "", name = "", increments] = process.argv.slice(2);
const checkpointer = await openShared(url);

say("ready");
await listen();
let conflicts = 0;
for (let done = 0; done < Number(increments); ) {
  const state = (await checkpointer.load(thread)) ?? AgentState.create();
  const count = Number(state.metadata["count"] ?? 0) + 1;
  // Values that take the place of others, and large ones: whole states are written often, and each load stays short.
  const next = state.withMetadata({ count, [name]: done + 1, filling: String(count).padStart(4_000, " ") });
  try {
    await checkpointer.save(next, thread, { metadata: { name, done: done + 1, count } });
    done++;
  } catch (error) {
    if (!StateError.is(error, "CONFLICT")) throw error;
    conflicts++;
    // Without a pause, most of what many writers do is read what another is about to outdate.
    await pause(Math.random() * 30);
  }
}
await checkpointer.close();
say({ conflicts });
process.disconnect();
