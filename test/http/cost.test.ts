import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { AgentState, userMessage } from "../../src/index.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import { type Served, served, sqliteFolder } from "./served.ts";

/** Bytes that one save sends at each step, headers included. */
async function bytesOfSaves(there: Served, steps: number): Promise<readonly number[]> {
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  await using client = there.client({ baseUrl: `http://127.0.0.1:${proxy.port}` });
  await client.connect();
  const bytes: number[] = [];
  let state = AgentState.create();
  for (let step = 1; step <= steps; step++) {
    state = state.withMessage(userMessage(`${String(step).padStart(6, "0")} ${"x".repeat(1000)}`));
    const before = proxy.forwarded["to server"];
    await client.save(state, "t");
    bytes.push(proxy.forwarded["to server"] - before);
  }
  await proxy.close();
  return bytes;
}

test("what a save sends does not grow with the thread: the change travels, not the state", async () => {
  await using there = await served();
  const bytes = await bytesOfSaves(there, 400);
  const [early, late] = [bytes[9]!, bytes[399]!];
  expect(early).toBeGreaterThan(1000);
  expect(late).toBeLessThan(early + 64);
  expect(Math.max(...bytes.slice(9)), "no step in between sends more").toBeLessThan(early + 64);
});

test("no words travel to a storage that makes its index from bodies", async () => {
  const { open, remove } = await sqliteFolder();
  const there = await served(open());
  const bytes = await bytesOfSaves(there, 12);
  expect(Math.max(...bytes)).toBeLessThan(2500);
  await there[Symbol.asyncDispose]();
  await remove();
});

test("deleting a thread of 2,500 checkpoints leaves nothing behind", async () => {
  for (const make of [
    async () => ({ log: new MemoryLog(), remove: async () => undefined }),
    async () => {
      const { open, remove } = await sqliteFolder();
      return { log: open(), remove };
    },
  ]) {
    const { log, remove } = await make();
    const there = await served(log);
    await using client = there.client();
    let state = AgentState.create();
    for (let step = 0; step < 2500; step++) {
      state = state.withMessage(userMessage(`message ${step}`));
      // Past the service, which would only make this slow; the first, the last and the deletion go through it.
      await (step === 2499
        ? client.save((await client.load("long"))!.withMessage(userMessage("last")), "long")
        : there.behind.save(state, "long"));
    }
    expect((await client.stats("long"))?.checkpoints).toBe(2500);
    await client.save(AgentState.create(), "long/er");
    expect(await client.delete("long")).toBe(true);
    expect(await client.exists("long")).toBe(false);
    expect(await client.load("long")).toBeUndefined();
    expect(await client.listCheckpoints("long")).toHaveLength(0);
    expect([...(await client.listThreads())]).toEqual(["long/er"]);
    expect((await client.search("message")).length).toBe(0);
    expect(await log.tail("long")).toBeUndefined();
    expect(await client.delete("long")).toBe(false);
    await there[Symbol.asyncDispose]();
    await remove();
  }
});
