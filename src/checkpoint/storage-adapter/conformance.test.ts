import { afterAll, test } from "vitest";
import { JsonFileStorage, MapStorage, without } from "../../../test/dict-storages.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import type { DictStorage } from "./dict-storage.ts";
import { DictLog } from "./log.ts";

/** How a storage is opened, again and again on the same contents. */
interface Opened {
  readonly open: () => DictStorage;
  readonly cleanup?: () => Promise<void>;
}

const onMaps = (wrap: (storage: MapStorage) => DictStorage) => async (): Promise<Opened> => {
  const cells = new Map<string, string>();
  return { open: () => wrap(new MapStorage(cells)) };
};

async function onFiles(): Promise<Opened> {
  const storage = await JsonFileStorage.create();
  return { open: () => new JsonFileStorage(storage.directory), cleanup: () => storage.remove() };
}

const whole = onMaps((storage) => storage);
const withoutCompare = onMaps((storage) => without(storage, "compareAndSave"));
const withoutList = onMaps((storage) => without(storage, "list"));
const withoutBoth = onMaps((storage) => without(storage, "list", "compareAndSave"));

const options = { durability: "os", maxRecordBytes: 64 * 1024 * 1024 } as const;

for (const [name, make] of Object.entries({
  "dict storage": whole,
  "dict storage without compareAndSave": withoutCompare,
  "dict storage without list": withoutList,
  "dict storage without both": withoutBoth,
  "dict storage of JSON files": onFiles,
})) {
  testThreadLog({
    name,
    test,
    afterAll,
    create: async () => {
      const { open, cleanup } = await make();
      const create = (): DictLog => new DictLog(open(), { name, ...options });
      return { subject: create(), reopen: async () => create(), ...(cleanup && { cleanup }) };
    },
  });
}

for (const [name, make] of Object.entries({
  "dict storage": whole,
  "dict storage without compareAndSave": withoutCompare,
  "dict storage without list": withoutList,
})) {
  testCheckpointer({
    name,
    test,
    afterAll,
    create: async () => {
      const { open } = await make();
      const create = (): StorageBackendAdapter => new StorageBackendAdapter(open(), options);
      return { subject: create(), reopen: async () => create() };
    },
  });
}
