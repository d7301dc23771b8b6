import { expect } from "vitest";
import type { CheckpointSummary } from "../../src/checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
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
  const { filling: _, ...metadata } = (await checkpointer.load(THREAD))!.metadata;
  const each = Array.from({ length: processes }, (_, index) => [`w${index}`, increments] as const);
  expect(metadata).toEqual({ count: processes * increments, ...Object.fromEntries(each) });
}

/** Every increment is a checkpoint of its own, one more than the one before it, and each writer's come in their order. */
async function proveHistory(checkpointer: Checkpointer, total: number): Promise<void> {
  const history: CheckpointSummary[] = [];
  for await (const summary of checkpointer.history(THREAD)) history.unshift(summary);
  expect(history.map(({ metadata }) => metadata!["count"])).toEqual(Array.from({ length: total }, (_, at) => at + 1));
  const own = new Map<unknown, unknown[]>();
  for (const { metadata } of history)
    own.set(metadata!["name"], [...(own.get(metadata!["name"]) ?? []), metadata!["done"]]);
  for (const done of own.values()) expect(done).toEqual(done.map((_, at) => at + 1));
  expect(new Set(history.map(({ checkpointId }) => checkpointId)).size).toBe(total);
  const apart = Math.max(1, Math.floor(total / 20));
  for (const { checkpointId, metadata } of history.filter((_, index) => index % apart === 0)) {
    const state = await checkpointer.load(THREAD, { checkpointId });
    expect(state?.metadata["count"]).toBe(metadata!["count"]);
  }
}
