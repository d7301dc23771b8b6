import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Contender } from "./contenders/contender.ts";
import { timed } from "./statistics.ts";
import { conversation } from "./workload.ts";

export const WRITERS = 8;
const SAVES = 60;

export interface Throughput {
  readonly name: string;
  readonly savesPerSecond: number;
}

/** Several writers at once, each on a thread of its own. */
export async function throughputOf(contender: Contender, seed: number): Promise<Throughput> {
  const root = mkdtempSync(join(tmpdir(), "holdfast-bench-writers-"));
  const messages = conversation(seed, SAVES);
  const writers = await Promise.all(
    Array.from({ length: WRITERS }, (_, index) => contender.open(join(root, String(index)))),
  );
  // The first steps open connections and make tables.
  for (const writer of writers) for (const message of messages.slice(0, 3)) await writer.append(message);
  const ms = await timed(() =>
    Promise.all(
      writers.map(async (writer) => {
        for (const message of messages.slice(3)) await writer.append(message);
      }),
    ),
  );
  for (const writer of writers) await writer.close();
  rmSync(root, { recursive: true });
  return { name: contender.name, savesPerSecond: (WRITERS * (SAVES - 3) * 1000) / ms };
}
