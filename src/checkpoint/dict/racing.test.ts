import { expect, test } from "vitest";
import { JsonFileStorage, MapStorage } from "../../../test/dict-storages.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import type { DictStorage } from "./dict-storage.ts";

const WRITERS = 8;
const ROUNDS = 12;

/** Every writer has a storage object of its own, as separate processes would. */
async function countTogether(open: () => DictStorage): Promise<{ count: unknown; history: number; conflicts: number }> {
  const first = new StorageBackendAdapter(open());
  await first.save(AgentState.create({ metadata: { count: 0 } }), "t");
  let conflicts = 0;
  const write = async (): Promise<void> => {
    const adapter = new StorageBackendAdapter(open());
    for (let round = 0; round < ROUNDS; ) {
      const state = (await adapter.load("t"))!;
      try {
        await adapter.save(state.withMetadata({ count: (state.metadata["count"] as number) + 1 }), "t");
        round++;
      } catch (error) {
        if (!StateError.is(error, "CONFLICT")) throw error;
        conflicts++;
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const stats = await first.stats("t");
  return { count: (await first.load("t"))?.metadata["count"], history: stats?.checkpoints ?? 0, conflicts };
}

test("eight writers with compareAndSave lose no increment and see conflicts", async () => {
  const cells = new Map<string, string>();
  const { count, history, conflicts } = await countTogether(() => new MapStorage(cells));
  expect(count).toBe(WRITERS * ROUNDS);
  expect(history).toBe(WRITERS * ROUNDS + 1);
  expect(conflicts).toBeGreaterThan(0);
  await new StorageBackendAdapter(new MapStorage(cells)).delete("t");
  expect([...cells.keys()]).toEqual([]);
});

test("eight writers on a folder of JSON files lose no increment", async () => {
  const storage = await JsonFileStorage.create();
  try {
    const { count, history } = await countTogether(() => new JsonFileStorage(storage.directory));
    expect(count).toBe(WRITERS * ROUNDS);
    expect(history).toBe(WRITERS * ROUNDS + 1);
  } finally {
    await storage.remove();
  }
});
