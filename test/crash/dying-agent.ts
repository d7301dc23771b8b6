/**
 * dying-agent <backend> <directory> <thread> <effects file> <story as JSON> <cut>
 *
 * Lives the story and kills itself, with SIGKILL, at the given await point.
 */
import { asDiskBackend, openLogOnDisk } from "../processes/disk-backends.ts";
import { say } from "../processes/speaking.ts";
import { effectsInFile } from "./effects.ts";
import { live } from "./life.ts";
import { stoppingLog } from "./stopping-log.ts";
import type { Story } from "./story.ts";
import { nothingTold } from "./told.ts";

const [backend, directory = "", threadId = "", effectsPath = "", story = "", cut] = process.argv.slice(2);
const faults: string[] = [];
let reached = 0;

const point = async (name: string): Promise<void> => {
  if (++reached !== Number(cut)) return;
  say({ stoppedAt: name });
  process.kill(process.pid, "SIGKILL");
};
const log = stoppingLog(openLogOnDisk(asDiskBackend(backend), directory), point);
const world = { point, effects: effectsInFile(effectsPath), faults, told: nothingTold() };
await live({ story: JSON.parse(story) as Story, world, log, threadId }, "go on");
await log.close();
say({ faults });
process.disconnect();
