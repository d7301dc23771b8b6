import { expect } from "vitest";
import type { CheckpointSummary } from "../../src/checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { textOf } from "../../src/state/message.ts";
import type { Programs } from "./programs.ts";
import { openShared } from "./shared-storage.ts";

const THREAD = "counter";

export interface Race {
  readonly url: string;
  readonly processes: number;
  readonly increments: number;
}

/** Several processes increment one thread at once. Proves that none of it was lost, and returns how often they met. */
export async function race(programs: Programs, { url, processes, increments }: Race): Promise<number> {
  const writers = Array.from({ length: processes }, (_, index) =>
    programs.start("incrementing-program", [url, THREAD, `w${index}`, String(increments)]),
  );
  try {
    for (const writer of writers) await writer.hasSaid(1);
    for (const writer of writers) writer.tell("go");
    for (const writer of writers) expect(await writer.ended()).toEqual({ code: 0, signal: null });
  } finally {
    for (const writer of writers) writer.signal("SIGKILL");
  }
  const conflicts = writers.map((writer) => (writer.said[1] as { readonly conflicts: number }).conflicts);

  const checkpointer = await openShared(url);
  await proveNothingLost(checkpointer, processes, increments);
  await proveHistory(checkpointer, processes * increments);
  await checkpointer.close();
  return conflicts.reduce((sum, count) => sum + count, 0);
}

async function proveNothingLost(checkpointer: Checkpointer, processes: number, increments: number): Promise<void> {
  const state = await checkpointer.load(THREAD);
  const messages = state!.messages.map(textOf);
  expect(state!.metadata["count"]).toBe(processes * increments);
  expect(messages).toHaveLength(processes * increments);
  for (let index = 0; index < processes; index++) {
    const own = messages.filter((message) => message.startsWith(`w${index}:`));
    expect(own).toEqual(Array.from({ length: increments }, (_, done) => `w${index}:${done}`));
  }
}

/** Every increment is a checkpoint of its own, and what a checkpoint holds is the beginning of what the last one holds. */
async function proveHistory(checkpointer: Checkpointer, total: number): Promise<void> {
  const newest = (await checkpointer.load(THREAD))!.messages;
  const history: CheckpointSummary[] = [];
  for await (const summary of checkpointer.history(THREAD)) history.push(summary);
  expect(history.map(({ messageCount }) => messageCount)).toEqual(
    Array.from({ length: total }, (_, index) => total - index),
  );
  expect(new Set(history.map(({ checkpointId }) => checkpointId)).size).toBe(total);
  const apart = Math.max(1, Math.floor(total / 20));
  for (const { checkpointId, messageCount } of history.filter((_, index) => index % apart === 0)) {
    const state = await checkpointer.load(THREAD, { checkpointId });
    expect(state?.messages).toEqual(newest.slice(0, messageCount));
  }
}
