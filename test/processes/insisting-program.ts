import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { say } from "./speaking.ts";

/**
 * Writes about one person without a pause, and says each word that a storage acknowledged, and when: in a thread that
 * grows, in threads that are new, and in items.
 */
const [threads = "", items = "", subject = "", mark = ""] = process.argv.slice(2);
const checkpointer = await openCheckpointer(threads);
const store = await openStore(items);
let isStopped = false;
process.on("message", () => {
  isStopped = true;
});

const about = { metadata: { subject } };
/** Bounded, so that a defect fails a test and fills no disk. */
const MOST = 2_000;

async function insist(
  write: (word: string, round: number) => Promise<unknown>,
  kind: string,
  pauseMs = 0,
): Promise<void> {
  for (let round = 0; !isStopped && round < MOST; round++) {
    const word = `${mark}${kind}${round}q`;
    try {
      await write(word, round);
      say({ word, at: Date.now() });
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
      if (error.context.written !== "no") throw error;
    }
    await new Promise((resolve) => (pauseMs === 0 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)));
  }
}

say("ready");
await Promise.all([
  insist(async (word) => {
    const state = (await checkpointer.load("shared")) ?? AgentState.create();
    await checkpointer.save(state.withMessage(userMessage(word, about)), "shared");
  }, "grows"),
  insist(
    (word, round) =>
      checkpointer.save(AgentState.create().withMessage(userMessage(word, about)), `${mark}-new-${round}`),
    "new",
    // Enough that an erasure has something to do, and not more than a slow machine can erase in a test.
    50,
  ),
  insist((word, round) => store.put(["notes"], `${mark}-${round % 50}`, { word }, about), "item"),
]);
await checkpointer.close();
await store.close();
process.disconnect();
