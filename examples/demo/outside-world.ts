import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A line in the books of the pager and of the deploy system: what really happened, whatever any agent remembers. */
export interface Effect {
  readonly at: string;
  readonly what: string;
  readonly idempotencyKey: string;
  readonly byProcess: number;
}

/** Kept beside the agent's store and not in it, as a pager or a deploy system would. */
export const outsideWorldPath = (folder: string): string => join(folder, "outside-world.log");

export async function takeEffect(folder: string, what: string, idempotencyKey: string): Promise<void> {
  const effect: Effect = { at: new Date().toISOString(), what, idempotencyKey, byProcess: process.pid };
  await appendFile(outsideWorldPath(folder), `${JSON.stringify(effect)}\n`);
}

export async function readEffects(folder: string): Promise<readonly Effect[]> {
  const text = await readFile(outsideWorldPath(folder), "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Effect);
}
