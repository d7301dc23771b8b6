import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { linesOf, MemoryStore } from "./stored-thread.ts";

/**
 * A process with work in its mailbox is killed at every durable boundary: right
 * before, and right after, each of its writes. Another one goes on with the thread.
 */

/** What a killed process would do never returns. */
const never = (): Promise<never> => new Promise(() => undefined);

function agentOn(checkpointer: Checkpointer, acted: string[]) {
  const step = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    messages.at(-1)?.role === "tool" ? "ok" : { toolCalls: [{ name: "pay" }, { name: "ship" }] };
  const pay = tool({
    name: "pay",
    needsApproval: true,
    execute: (_, { idempotencyKey }) => void acted.push(idempotencyKey),
  });
  const ship = tool({
    name: "ship",
    execute: (_, { idempotencyKey, later }) => {
      acted.push(idempotencyKey);
      return later();
    },
  });
  return agentOf({ model: scriptedModel(Array.from({ length: 50 }, () => step)), checkpointer, tools: [pay, ship] });
}

/** A thread that waits for an approval and an outcome, with both and words in its mailbox. */
async function waitingThread(acted: string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const agent = agentOn(store.open(), acted);
  const { pending } = await agent.run("go", { threadId: "t" });
  const sender = store.open();
  await sender.send("t", { message: "first" }, { id: "first" });
  const answer = pending
    .filter(({ kind }) => kind === "approval")
    .map(({ id }) => ({ id, response: { decision: "approve" } }));
  await sender.send("t", { answer }, { id: "approved" });
  await sender.send(
    "t",
    { result: { toolCallId: pending.find(({ kind }) => kind === "external")?.toolCallId ?? "", result: "by rail" } },
    { id: "shipped" },
  );
  await sender.send("t", { message: "second" }, { id: "second" });
  store.killAll();
  return store;
}

/** Lets this many appends through, and then none: as a process that dies before or after that write. */
function killedAt(
  store: MemoryStore,
  appends: number,
  isAfter: boolean,
): { readonly restore: () => void; count(): number } {
  const { append } = store.log;
  let count = 0;
  store.log.append = async (...call) => {
    count++;
    if (count > appends || (count === appends && !isAfter)) return never();
    const outcome = await append.apply(store.log, call);
    return count === appends ? never() : outcome;
  };
  return {
    restore: () => {
      store.log.append = append;
    },
    count: () => count,
  };
}

async function untilStill(count: () => number): Promise<void> {
  for (let [before, turns] = [-1, 0]; turns < 3; turns++) {
    if (count() !== before) turns = 0;
    before = count();
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

test("killed at every durable boundary, what waits is taken in once and in order, and no effect happens twice", async () => {
  const whole: string[] = [];
  const healthy = await waitingThread(whole);
  const counter = killedAt(healthy, Number.POSITIVE_INFINITY, true);
  expect((await agentOn(healthy.open(), whole).run(undefined, { threadId: "t" })).stopReason).toBe("pending");
  const writes = counter.count();
  counter.restore();
  expect(writes).toBeGreaterThan(3);
  const expected = linesOf(await healthy.state());
  expect(expected.filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: first", "user: second"]);
  for (let boundary = 1; boundary <= writes; boundary++) {
    for (const isAfter of [false, true]) {
      const acted: string[] = [];
      const store = await waitingThread(acted);
      const killed = killedAt(store, boundary, isAfter);
      agentOn(store.open(), acted)
        .run(undefined, { threadId: "t" })
        .catch(() => undefined);
      await untilStill(killed.count);
      killed.restore();
      store.killAll();
      const at = `killed ${isAfter ? "after" : "before"} write ${boundary}`;
      const last = agentOn(store.open(), acted);
      const { stopReason } = await last.run(undefined, { threadId: "t" });
      expect([at, stopReason]).toEqual([at, "pending"]);
      const state = await store.state();
      expect([at, state.messages.flatMap(({ role, id }) => (role === "user" ? [id] : []))]).toEqual([
        at,
        [undefined, "first", "second"],
      ]);
      expect([at, await store.open().signals("t")]).toEqual([at, []]);
      expect([at, state.errors]).toEqual([at, []]);
      expect([at, new Set(acted).size]).toEqual([at, acted.length]);
    }
  }
}, 60_000);
