/**
 * grouping-program <url> <threads>
 *
 * Saves many threads at once over one checkpointer until it is killed, so that
 * most saves share a transaction or a round trip with others. Says each save
 * once it was acknowledged.
 */
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { openShared } from "./shared-storage.ts";
import { listen, say } from "./speaking.ts";

const [url = "", threads] = process.argv.slice(2);
const checkpointer = await openShared(url);
const ids = Array.from({ length: Number(threads) }, (_, index) => `thread ${index}`);
const states = await Promise.all(ids.map(async (id) => (await checkpointer.load(id)) ?? AgentState.create()));

say("ready");
await listen();
await Promise.all(ids.map((id, index) => saveOn(id, states[index] ?? AgentState.create())));

async function saveOn(threadId: string, from: AgentState): Promise<never> {
  for (let state = from; ; ) {
    const number = state.messages.length;
    state = state.withMessage(userMessage(`${threadId}: ${number} ${"word ".repeat(number % 40)}`));
    await checkpointer.save(state, threadId);
    say({ threadId, number });
  }
}
