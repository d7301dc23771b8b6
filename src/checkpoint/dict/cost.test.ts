import { expect, test } from "vitest";
import { MapStorage, observed, type StorageCall } from "../../../test/dict-storages.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { StorageBackendAdapter } from "./adapter.ts";

/** A storage that counts, and an adapter on it. */
function counted() {
  const calls: { readonly call: StorageCall; readonly key: string }[] = [];
  let bytes = 0;
  const storage = new MapStorage();
  const weighing = new MapStorage(storage.cells);
  weighing.save = (key, data) => {
    bytes += JSON.stringify(data).length;
    return storage.save(key, data);
  };
  weighing.compareAndSave = (key, expected, data) => {
    bytes += JSON.stringify(data ?? null).length;
    return storage.compareAndSave(key, expected, data);
  };
  const counting = observed(weighing, (call, key) => {
    calls.push({ call, key });
    return undefined;
  });
  const measure = async (work: () => Promise<unknown>) => {
    const [callsBefore, bytesBefore] = [calls.length, bytes];
    await work();
    return { calls: calls.slice(callsBefore), bytes: bytes - bytesBefore };
  };
  return { adapter: new StorageBackendAdapter(counting), measure, cells: storage.cells };
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

test("what a save writes and asks does not grow with the thread", async () => {
  const { adapter, measure, cells } = counted();
  const saves: { readonly calls: readonly unknown[]; readonly bytes: number }[] = [];
  let state = AgentState.create();
  for (let step = 0; step < 320; step++) {
    state = state.withMessage(userMessage("x".repeat(1000)));
    saves.push(await measure(() => adapter.save(state, "t")));
  }
  const [early, late] = [saves.slice(16, 48), saves.slice(-32)];
  expect(median(late.map(({ bytes }) => bytes))).toBeLessThan(1.1 * median(early.map(({ bytes }) => bytes)));
  expect(Math.max(...saves.map(({ calls }) => calls.length))).toBeLessThanOrEqual(4);
  const written = saves.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(written, "all that was ever written, for 320 kB of messages").toBeLessThan(10 * 320_000);
  const stored = [...cells.values()].reduce((sum, text) => sum + text.length, 0);
  expect(stored, "all that is kept").toBeLessThan(4 * 320_000);
});

test("a save under a new name does not read the history again each time", async () => {
  const { adapter, measure } = counted();
  const calls: number[] = [];
  let state = AgentState.create();
  for (let step = 0; step < 320; step++) {
    state = state.withMessage(userMessage(`message ${step}`));
    calls.push((await measure(() => adapter.save(state, "t", { checkpointId: `step ${step}` }))).calls.length);
  }
  expect(Math.max(...calls)).toBeLessThanOrEqual(6);
});

test("listing, metadata and existence read no bodies, and a history is read by the page", async () => {
  const { adapter, measure } = counted();
  let state = AgentState.create();
  for (let step = 1; step <= 160; step++) {
    state = state.withMessage(userMessage(`message ${step}`));
    await adapter.save(state, "t", { metadata: { step } });
  }
  const history = await measure(() => adapter.stats("t"));
  expect(history.calls.filter(({ key }) => key.endsWith("-body"))).toEqual([]);
  expect(history.calls.length).toBeLessThanOrEqual(14);
  const small = await measure(async () => {
    await adapter.exists("t");
    await adapter.getMetadata("t");
    await adapter.listCheckpoints("t", { limit: 3 });
    await adapter.listWithMetadata();
  });
  expect(small.calls.filter(({ key }) => key.endsWith("-body"))).toEqual([]);
  expect(small.calls.length).toBeLessThanOrEqual(8);
});

test("deleting a long thread leaves no key behind", async () => {
  const { adapter, cells } = counted();
  let state = AgentState.create();
  for (let step = 1; step <= 130; step++) {
    state = state.withMessage(userMessage(`message ${step}`));
    await adapter.save(state, "t", { checkpointId: `c${step}` });
  }
  await adapter.delete("t", { checkpointId: "c40" });
  await adapter.vacuum({ keepLast: 100 });
  const bodies = [...cells.values()].flatMap((text) => (JSON.parse(text) as { bodies: string[] }).bodies);
  expect(bodies, "one a checkpoint, and one of a mark").toHaveLength(100 + 1);
  expect(await adapter.delete("t")).toBe(true);
  expect([...cells.keys()]).toEqual([]);
});
