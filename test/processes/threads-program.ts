/**
 * threads-program <backend> <directory> <seed>
 *
 * Works on several threads until it is killed: begins them, saves, deletes
 * checkpoints, and deletes whole threads. Says each action before it begins and
 * once it is done.
 */
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { asDiskBackend, openOnDisk } from "./disk-backends.ts";
import { seededRandom } from "./seeded-random.ts";
import { listen, say } from "./speaking.ts";
import { SEVERAL_THREADS, type ThreadsAction } from "./threads-model.ts";

const [backend, directory = "", seed] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const checkpointer = await openOnDisk(asDiskBackend(backend), directory);
const states = new Map<string, AgentState>();

say("ready");
await listen();
for (let step = 0; ; step++) {
  const thread = SEVERAL_THREADS[random.below(SEVERAL_THREADS.length)] ?? "";
  const action = chooseAction(thread, step);
  say({ begin: action });
  await perform(action);
  say({ done: null });
}

function chooseAction(thread: string, step: number): ThreadsAction {
  const choice = random.next();
  if (states.has(thread) && choice < 0.25) return { kind: "delete", thread };
  if (states.has(thread) && choice < 0.4) return { kind: "prune", thread };
  return { kind: "append", thread, text: `${seed}.${step} ${"word ".repeat(random.below(100))}` };
}

async function perform(action: ThreadsAction): Promise<void> {
  const { kind, thread } = action;
  if (kind === "delete") {
    await checkpointer.delete(thread);
    states.delete(thread);
    return;
  }
  if (kind === "append") {
    const next = (states.get(thread) ?? AgentState.create()).withMessage(userMessage(action.text));
    states.set(thread, next);
    await checkpointer.save(next, thread);
    return;
  }
  for (const { checkpointId } of (await checkpointer.listCheckpoints(thread, { limit: 20 })).slice(1)) {
    await checkpointer.delete(thread, { checkpointId });
  }
}
