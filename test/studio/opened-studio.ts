import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildStudio } from "../../scripts/studio/build-page.ts";
import { sqliteCheckpointer, sqliteStore } from "../../src/backends/sqlite/index.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import type { Store } from "../../src/entry/store.ts";
import type { Checkpointer } from "../../src/index.ts";
import type { StudioOptions } from "../../src/studio/studio-context.ts";
import { type RunningStudio, startStudio } from "../../src/studio/studio-server.ts";

let built: Promise<string> | undefined;

/** One build for every test of a file. */
export function builtPage(): Promise<string> {
  built ??= (async () => (await buildStudio(await mkdtemp(join(tmpdir(), "holdfast-page-")))).folder)();
  return built;
}

export interface OpenedStudio {
  readonly studio: RunningStudio;
  readonly checkpointer: Checkpointer;
  /** What Studio told its operator. */
  readonly notes: string[];
  close(): Promise<void>;
}

export interface StudioSetup extends Partial<Omit<StudioOptions, "checkpointer">> {
  readonly port?: number;
}

/** A Studio on a checkpointer that is open already. */
export async function openStudio(checkpointer: Checkpointer, setup: StudioSetup = {}): Promise<OpenedStudio> {
  const notes: string[] = [];
  const studio = await startStudio({
    storeName: "sqlite:./agents.db",
    mayWrite: false,
    mayDelete: false,
    canErase: false,
    cacheBytes: 256 * 1024 * 1024,
    version: "0.1.0",
    now: Date.now,
    note: (line) => notes.push(line),
    port: 0,
    pageFolder: await builtPage(),
    ...setup,
    checkpointer,
  });
  return { studio, checkpointer, notes, close: () => studio.close() };
}

/** A SQLite file in a folder of its own. */
export class StudioFolder {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<StudioFolder> {
    return new StudioFolder(await mkdtemp(join(tmpdir(), "holdfast-studio-")));
  }

  get path(): string {
    return join(this.folder, "agents.db");
  }

  open(options: CheckpointerOptions = {}): Checkpointer {
    return sqliteCheckpointer({ path: this.path, ...options });
  }

  items(access: "read" | "write" = "write"): Store {
    return sqliteStore({ path: this.path, access });
  }

  dispose(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
