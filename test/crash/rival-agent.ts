/**
 * rival-agent <backend> <directory> <thread> <effects file> <story as JSON> <prompt> <barrier> <lease in ms>
 *
 * Runs the thread once, without a prompt when that is empty. At the barrier, an
 * await point, it says where it is and waits for the word to go on. Says how the run ended.
 */
import { CoreAgent } from "../../src/agent/agent.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { StateError } from "../../src/errors.ts";
import { asDiskBackend, openLogOnDisk } from "../processes/disk-backends.ts";
import { listen, say } from "../processes/speaking.ts";
import { effectsInFile } from "./effects.ts";
import { stoppingLog } from "./stopping-log.ts";
import { partsOf, type Story } from "./story.ts";
import { nothingTold } from "./told.ts";

const [backend, directory = "", threadId = "", effectsPath = "", story = "", prompt, barrier, ttlMs] =
  process.argv.slice(2);
let hasWaited = false;

const point = async (name: string): Promise<void> => {
  if (name !== barrier || hasWaited) return;
  hasWaited = true;
  say({ at: name });
  await listen();
};
const log = stoppingLog(openLogOnDisk(asDiskBackend(backend), directory), point);
const checkpointer = new Checkpointer(log);
const world = { point, effects: effectsInFile(effectsPath), faults: [], told: nothingTold() };
const { model, ...parts } = partsOf(JSON.parse(story) as Story, world);
const lease = { ttlMs: Number(ttlMs) };
const agent = new CoreAgent({ ...parts, lease, model: async () => model, checkpointer: async () => checkpointer });
say(await ending());
await checkpointer.close();
process.disconnect();

async function ending(): Promise<{ readonly ended: string }> {
  try {
    return { ended: (await agent.run(prompt || undefined, { threadId })).stopReason };
  } catch (error) {
    if (StateError.is(error)) return { ended: error.code };
    throw error;
  }
}
