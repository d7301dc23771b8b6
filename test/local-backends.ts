import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileCheckpointer } from "../src/backends/file/index.ts";
import { MemoryCheckpointer } from "../src/backends/memory/index.ts";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../src/checkpoint/context.ts";
import { StorageBackendAdapter } from "../src/checkpoint/dict/adapter.ts";
import { MapStorage } from "./dict-storages.ts";

/** A fresh storage of one kind. */
export interface LocalStorage {
  /** A checkpointer on it; each call is what another process would open. */
  open(options?: CheckpointerOptions): Checkpointer;
  /** Where everything lies, for storages on a disk. */
  readonly directory?: string;
  dispose(): Promise<void>;
}

export interface LocalBackend {
  readonly name: string;
  /** Whether it is still there after the process. */
  readonly durable: boolean;
  /** More checkpoints than any page of this backend holds; no more than it saves in a few seconds. */
  readonly longThread: number;
  create(): Promise<LocalStorage>;
  /** As users write it, with whatever options. */
  construct(options: object): Checkpointer;
}

/** Every backend that needs no service. */
export const LOCAL_BACKENDS: readonly LocalBackend[] = [
  {
    name: "memory",
    durable: false,
    longThread: 1_100,
    create: async () => {
      const log = new MemoryLog();
      return { open: (options = {}) => new Checkpointer(log, options), dispose: async () => undefined };
    },
    construct: (options) => new MemoryCheckpointer(options),
  },
  {
    name: "dict storage",
    durable: false,
    longThread: 550,
    create: async () => {
      const cells = new Map<string, string>();
      return {
        open: (options = {}) => new StorageBackendAdapter(new MapStorage(cells), options),
        dispose: async () => undefined,
      };
    },
    construct: (options) => new StorageBackendAdapter(new MapStorage(new Map()), options),
  },
  {
    name: "file",
    durable: true,
    longThread: 550,
    create: () => inDirectory((directory, options) => new FileCheckpointer({ ...options, directory })),
    construct: (options) => new FileCheckpointer({ directory: join(tmpdir(), "holdfast-not-made"), ...options }),
  },
  {
    name: "sqlite",
    durable: true,
    longThread: 1_100,
    create: () =>
      inDirectory((directory, options) => sqliteCheckpointer({ ...options, path: join(directory, "a.db") })),
    construct: (options) => sqliteCheckpointer({ path: ":memory:", ...options }),
  },
];

async function inDirectory(
  make: (directory: string, options: CheckpointerOptions) => Checkpointer,
): Promise<LocalStorage> {
  const root = await mkdtemp(join(tmpdir(), "holdfast-local-"));
  const directory = join(root, "inside");
  await mkdir(directory);
  const opened: Checkpointer[] = [];
  return {
    directory,
    open: (options = {}) => {
      const checkpointer = make(directory, options);
      opened.push(checkpointer);
      return checkpointer;
    },
    dispose: async () => {
      for (const checkpointer of opened) await checkpointer.close();
      await rm(root, { recursive: true });
    },
  };
}

/** All files below a directory. */
export async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

export async function bytesIn(directory: string): Promise<number> {
  const sizes = await Promise.all((await filesIn(directory)).map(async (path) => (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Cuts the one file that holds `text` in half, as a crash without fsync would. Returns its name. */
export async function tearFileWith(directory: string, text: string): Promise<string> {
  for (const path of await filesIn(directory)) {
    const content = await readFile(path);
    if (!content.includes(text)) continue;
    await truncate(path, content.byteLength >> 1);
    return path;
  }
  throw new Error(`no file holds ${text}`);
}
