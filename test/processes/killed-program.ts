/**
 * killed-program <backend> <directory> <thread> <seed>
 *
 * Works on a thread until it is killed: saves, moves a bookmark, rewrites the
 * history, deletes checkpoints, vacuums. Says each action before it begins and
 * what came of it once it is done.
 */
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { asDiskBackend, openOnDisk } from "./disk-backends.ts";
import { seededRandom } from "./seeded-random.ts";
import { listen, say } from "./speaking.ts";
import type { Action } from "./thread-model.ts";

const [backend, directory = "", thread = "", seed] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const checkpointer = await openOnDisk(asDiskBackend(backend), directory);

say("ready");
await listen();
let state = (await checkpointer.load(thread)) ?? AgentState.create();
for (let step = 0; ; step++) {
  const action = await chooseAction(step);
  say({ begin: action });
  say({ done: await perform(action) });
}

async function chooseAction(step: number): Promise<Action> {
  const text = `${seed}.${step} ${"word ".repeat(random.below(300))}`;
  const choice = random.next();
  const { messages } = state;
  if (choice < 0.08 && messages.length > 12) {
    const kept = messages.slice(-1 - random.below(8)).map(textOf);
    return { kind: "rewrite", texts: [`summary ${text}`, ...kept] };
  }
  if (choice < 0.2) {
    const recent = await checkpointer.listCheckpoints(thread, { limit: 12 });
    const { checkpointId } = recent[random.below(recent.length)] ?? {};
    if (recent.length > 3 && checkpointId !== undefined) return { kind: "delete", checkpointId };
  }
  if (choice < 0.25) return { kind: "vacuum", keepLast: 5 + random.below(20) };
  return { kind: "append", text, ...(choice < 0.35 && { checkpointId: "bookmark" }) };
}

/** Returns the id of the checkpoint that was saved, if one was. */
async function perform(action: Action): Promise<string | null> {
  switch (action.kind) {
    case "append": {
      state = state.withMessage(userMessage(action.text));
      const { checkpointId } = action;
      return checkpointer.save(state, thread, checkpointId === undefined ? {} : { checkpointId });
    }
    case "rewrite":
      state = state.withHistory(action.texts.map((text) => userMessage(text)));
      return checkpointer.save(state, thread);
    case "delete": {
      const [newest] = await checkpointer.listCheckpoints(thread, { limit: 1 });
      await checkpointer.delete(thread, { checkpointId: action.checkpointId });
      // The state in hand belongs to a checkpoint that is gone only when that was the newest.
      if (newest?.checkpointId === action.checkpointId) state = (await checkpointer.load(thread)) ?? state;
      return null;
    }
    case "vacuum":
      await checkpointer.vacuum({ keepLast: action.keepLast });
      return null;
  }
}
