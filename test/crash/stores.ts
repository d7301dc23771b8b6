import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { openLogOnDisk } from "../processes/disk-backends.ts";

export const STORES = ["memory", "file", "sqlite"] as const;
export type StoreName = (typeof STORES)[number];

/** A storage that outlives the processes which open it. Threads of many stories share it. */
export interface Store {
  /** A driver of its own, as a new process has it. */
  open(): ThreadLog;
  /** Of a process that looks on all the time and writes nothing. */
  readonly onlooker: Checkpointer;
  /** Where it lies; empty for memory. */
  readonly directory: string;
  dispose(): Promise<void>;
}

export async function openStore(name: StoreName): Promise<Store> {
  if (name === "memory") {
    const log = new MemoryLog();
    return { open: () => log, onlooker: new Checkpointer(log), directory: "", dispose: async () => undefined };
  }
  const directory = await mkdtemp(join(tmpdir(), `holdfast-crash-${name}-`));
  const onlooker = new Checkpointer(openLogOnDisk(name, directory));
  return {
    open: () => openLogOnDisk(name, directory),
    onlooker,
    directory,
    dispose: async () => {
      await onlooker.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
