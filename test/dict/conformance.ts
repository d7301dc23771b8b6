import { afterAll, test } from "vitest";
import { StorageBackendAdapter } from "../../src/checkpoint/dict/adapter.ts";
import type { DictStorage } from "../../src/checkpoint/dict/dict-storage.ts";
import { DictLog } from "../../src/checkpoint/dict/log.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { type CompleteStorage, JsonFileStorage, observed, ReorderingStorage, without } from "../dict-storages.ts";
import { testFeatures } from "../feature-sample.ts";
import { folderCopy } from "../file/folder-copy.ts";

/** A storage that can be opened again and again on the same contents, and that can be made to fail. */
export interface Contents {
  readonly open: () => DictStorage;
  readonly outage: () => Promise<() => Promise<void>>;
  readonly copy?: () => Promise<() => Promise<void>>;
  readonly cleanup?: () => Promise<void>;
}

function contents(open: () => CompleteStorage, ...missing: ("list" | "compareAndSave")[]): Contents {
  let isDown = false;
  const failing = (storage: CompleteStorage): CompleteStorage =>
    observed(storage, () => {
      if (isDown) throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
      return undefined;
    });
  const outage = async (): Promise<() => Promise<void>> => {
    isDown = true;
    return async () => {
      isDown = false;
    };
  };
  return { open: () => without(failing(open()), ...missing), outage };
}

export const onMaps =
  (...missing: ("list" | "compareAndSave")[]) =>
  async (): Promise<Contents> => {
    const cells = new Map<string, string>();
    const copied = async () => {
      const copy = new Map(cells);
      return async () => {
        cells.clear();
        for (const [key, cell] of copy) cells.set(key, cell);
      };
    };
    return { ...contents(() => new ReorderingStorage(cells), ...missing), copy: copied };
  };

export async function onFiles(): Promise<Contents> {
  const storage = await JsonFileStorage.create();
  const { directory } = storage;
  return {
    ...contents(() => new JsonFileStorage(directory)),
    copy: () => folderCopy(directory),
    cleanup: () => storage.remove(),
  };
}

const options = { durability: "os", maxRecordBytes: 64 * 1024 * 1024 } as const;

export function testDictLog(name: string, make: () => Promise<Contents>): void {
  testThreadLog({
    name,
    test,
    afterAll,
    create: async () => {
      const { open, ...rest } = await make();
      const create = (): DictLog => new DictLog(open(), { name, ...options });
      return { subject: create(), reopen: async () => create(), ...rest };
    },
  });
}

export function testAdapter(name: string, make: () => Promise<Contents>): void {
  testFeatures({
    name,
    test,
    afterAll,
    create: async () => {
      const { open, ...rest } = await make();
      const clock = manualClock();
      const retry = { attempts: 2, baseDelayMs: 1 };
      const create = (): StorageBackendAdapter =>
        new StorageBackendAdapter(open(), { ...options, now: clock.now, retry });
      return { subject: create(), reopen: async () => create(), clock, ...rest };
    },
  });
}
