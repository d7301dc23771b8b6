import { vi } from "vitest";
import { BACKENDS } from "../../src/backends/registry.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";

/** Makes every SQLite URL this log, which stays open when a command closes what it opened. Undone by `vi.restoreAllMocks()`. */
export function standIn(log: ThreadLog): void {
  const openUrl = (_: string, options: CheckpointerOptions) =>
    new Checkpointer(new PrefixLog(log, ""), { ...options, retry: { attempts: 1 } });
  vi.spyOn(BACKENDS["sqlite"] as { load: () => Promise<unknown> }, "load").mockResolvedValue({ openUrl });
}

/** The threads that are really in the storage. */
export async function threadsIn(log: ThreadLog): Promise<readonly string[]> {
  const { items } = await log.listThreads({ prefix: "", limit: 1000 });
  return items.filter(isReadable).map(({ threadId }) => threadId);
}
