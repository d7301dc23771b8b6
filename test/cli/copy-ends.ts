import { expect, vi } from "vitest";
import { BACKENDS } from "../../src/backends/registry.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../../src/checkpoint/context.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { growThread } from "../../src/testing/checkpointer-cases/conversations.ts";
import type { LocalBackend, LocalStorage } from "../local-backends.ts";
import { Death } from "./dying-log.ts";
import { everythingIn } from "./everything.ts";
import { holdfast } from "./fake-world.ts";

export const FROM_AND_TO: readonly [string, string] = ["memory:from", "memory:to"];

export type Layer = (log: ThreadLog) => ThreadLog;

/** Makes `memory:from` and `memory:to` these stores, the second one behind a layer, seen by a process that may die. */
export function standBetween(from: LocalStorage, to: LocalStorage, layer: Layer = (log) => log, death?: Death): void {
  const openUrl = (url: string, options: CheckpointerOptions) => {
    const storage = url === "memory:from" ? from : to;
    // A view of the whole log: what the command closes stays open for the test.
    const log = new PrefixLog(contextOf(storage.open())?.log as ThreadLog, "");
    const layered = url === "memory:from" ? log : layer(log);
    return new Checkpointer(death?.around(layered) ?? layered, { ...options, retry: { attempts: 1 } });
  };
  vi.spyOn(BACKENDS["memory"] as { load: () => Promise<unknown> }, "load").mockResolvedValue({ openUrl });
}

/** The same log with some of its members in another's place. */
export const altered = (log: ThreadLog, instead: Partial<ThreadLog>): ThreadLog =>
  new Proxy(log, {
    get: (target, name) => {
      if (Object.hasOwn(instead, name)) return Reflect.get(instead, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

/** Everything that can be loaded from a store, with no fault anywhere. */
export async function everything(storage: LocalStorage): Promise<unknown> {
  const found = await everythingIn(storage.open());
  for (const thread of Object.values(found)) expect(thread).toMatchObject({ faults: [] });
  return found;
}

/** The write ids of a thread, oldest first. */
async function writeIds(storage: LocalStorage, threadId: string): Promise<readonly string[]> {
  const log = contextOf(storage.open())?.log;
  const chain = await log?.readRecords(threadId, { limit: 10_000 });
  return chain?.records.map(({ writeId }) => writeId) ?? [];
}

export async function stores(
  source: LocalBackend,
  target: LocalBackend,
  work: (from: LocalStorage, to: LocalStorage) => Promise<void>,
): Promise<void> {
  const [from, to] = [await source.create(), await target.create()];
  try {
    await work(from, to);
  } finally {
    await from.dispose();
    await to.dispose();
  }
}

/** A target that takes little at once. */
export const smallRecords: Layer = (log) =>
  altered(log, { capabilities: { ...log.capabilities, maxRecordBytes: 3000 } });

/**
 * A copy that is killed at each of its driver calls in turn and run again: every
 * time the target has all of it, and no write id twice. Returns how often it was killed.
 */
export async function killedEverywhere(
  from: LocalStorage,
  to: LocalStorage,
  when: "before" | "after",
  args: readonly string[],
): Promise<number> {
  await contextOf(to.open())?.log.listThreads({ prefix: "", limit: 1 });
  for (let at = 1; ; at++) {
    const writer = from.open();
    const { ids } = await growThread(writer, "long", 9);
    await writer.delete("long", ids[2] ?? "");
    await writer.delete("long", ids.at(-1) ?? "");
    await writer.fork("long", "fork", ids[4] ?? "");
    const death = new Death(at, when);
    // Small appends, so that there is something to be in the middle of.
    standBetween(from, to, smallRecords, death);
    const { code } = await holdfast(["copy", ...FROM_AND_TO, ...args]);
    expect(code === 0).toBe(!death.isDead);
    if (!death.isDead) return at - 1;
    standBetween(from, to, smallRecords);
    expect((await holdfast(["copy", ...FROM_AND_TO, ...args])).code).toBe(0);
    expect(await everything(to)).toEqual(await everything(from));
    const copied = await writeIds(to, "long");
    expect(new Set(copied).size).toBe(copied.length);
    for (const checkpointer of [from.open(), to.open()]) {
      for (const threadId of ["long", "fork"]) await checkpointer.delete(threadId);
    }
  }
}
