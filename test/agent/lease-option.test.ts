import { expect, test } from "vitest";
import { BaseCheckpointer } from "../../src/checkpoint/base-checkpointer.ts";
import { type CheckpointerCapabilities, capabilities } from "../../src/checkpoint/capabilities.ts";
import type { Lease } from "../../src/checkpoint/lease/lease.ts";
import { StateError } from "../../src/errors.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

/** A model that says when it is asked and answers when it may. */
function held(answer: string): { step: ScriptStep; asked: Promise<void>; answer: () => void } {
  const [asked, go] = [gate(), gate()];
  const step: ScriptStep = async () => {
    asked.open();
    await go.opened;
    return answer;
  };
  return { step, asked: asked.opened, answer: go.open };
}

test("while a run holds the lease, a second run is refused before its model is asked", async () => {
  const store = new MemoryStore();
  const first = held("one");
  const model = scriptedModel(["two"]);
  const running = agentOf({ model: scriptedModel([first.step]), checkpointer: store.open(), lease: true }).run("1", {
    threadId: "t",
  });
  await first.asked;
  await store.holds(1);
  const second = agentOf({ model, checkpointer: store.open(), whenBusy: "reject" });
  const refusal = await failureOf(() => second.run("2", { threadId: "t" }));
  expect(refusal.code).toBe("CONFLICT");
  expect(refusal.message).toMatch(/a run of an agent holds it \(process \d+, until 20.*wait for the run to end/);
  expect(model.requests).toHaveLength(0);
  first.answer();
  expect(await running).toMatchObject({ text: "one" });
});

test("a run that wants no lease is refused too while another holds it", async () => {
  const store = new MemoryStore();
  const first = held("one");
  const running = agentOf({ model: scriptedModel([first.step]), checkpointer: store.open(), lease: true }).run("1", {
    threadId: "t",
  });
  await first.asked;
  await store.holds(1);
  const model = scriptedModel(["two"]);
  const second = agentOf({ model, checkpointer: store.open(), lease: false });
  expect((await failureOf(() => second.run("2", { threadId: "t" }))).code).toBe("CONFLICT");
  first.answer();
  await running;
  expect(await store.lines()).toEqual(["user: 1", "assistant: one"]);
});

test("a second run that is told to wait goes on where the first one ended", async () => {
  const store = new MemoryStore();
  const first = held("one");
  const running = agentOf({ model: scriptedModel([first.step]), checkpointer: store.open(), lease: true }).run("1", {
    threadId: "t",
  });
  await first.asked;
  await store.holds(1);
  const lease = { waitMs: 20_000 };
  const waiting = agentOf({ model: scriptedModel(["two"]), checkpointer: store.open(), lease }).run("2", {
    threadId: "t",
  });
  first.answer();
  await Promise.all([running, waiting]);
  expect(await store.lines()).toEqual(["user: 1", "assistant: one", "user: 2", "assistant: two"]);
});

test("a run that waits for the lease can be cancelled", async () => {
  const store = new MemoryStore();
  const first = held("one");
  const running = agentOf({ model: scriptedModel([first.step]), checkpointer: store.open(), lease: true }).run("1", {
    threadId: "t",
  });
  await first.asked;
  await store.holds(1);
  const stop = new AbortController();
  const lease = { waitMs: 600_000 };
  const waiting = agentOf({ model: scriptedModel(["two"]), checkpointer: store.open(), lease }).run("2", {
    threadId: "t",
    signal: stop.signal,
  });
  stop.abort(new Error("never mind"));
  await expect(Promise.resolve(waiting)).rejects.toThrow("never mind");
  first.answer();
  await running;
});

test("the lease is given back when a run fails", async () => {
  const store = new MemoryStore();
  const fails = agentOf({ model: scriptedModel([new Error("no")]), checkpointer: store.open(), lease: true });
  await failureOf(() => fails.run("1", { threadId: "t" }));
  const next = agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open(), lease: true });
  expect(await next.run(undefined, { threadId: "t" })).toMatchObject({ text: "yes" });
});

test("a checkpointer without leases: runs wait for one another in the process, and one warning says so", async () => {
  class Plain extends BaseCheckpointer {
    #state: AgentState | undefined;
    get capabilities(): CheckpointerCapabilities {
      return capabilities({ history: false });
    }
    async save(state: AgentState): Promise<string> {
      this.#state = state;
      return "only";
    }
    async load(): Promise<AgentState | undefined> {
      return this.#state;
    }
    async listCheckpoints() {
      return [];
    }
    async delete() {
      return false;
    }
  }
  const plain = new Plain();
  const agent = agentOf({ model: scriptedModel(["one", "two"]), checkpointer: plain });
  const runs = ["1", "2"].map((prompt) => agent.run(prompt, { threadId: "t" }));
  await Promise.all(runs);
  expect((await plain.load())?.messages).toHaveLength(4);
  const warnings = (await Promise.all(runs.map(eventsOf))).flatMap((events) => ofType(events, "warning"));
  expect(warnings).toMatchObject([{ where: "lease", error: { code: "UNSUPPORTED" } }]);
});

test("terms that make no sense are refused when the agent is made", () => {
  const make = (options: object) => () => agentOf({ model: scriptedModel([]), ...options });
  expect(make({ lease: { ttlMs: 0 } })).toThrow(/ttlMs/);
  expect(make({ lease: { waitMs: -1 } })).toThrow(/waitMs/);
  expect(make({ whenBusy: "later" })).toThrow(/whenBusy must be "wait", "reject" or "enqueue"/);
  expect(() => agentOf({ model: scriptedModel([]) }).run("x", { whenBusy: "no" as "wait" })).toThrow(/whenBusy/);
});

test("a checkpointer with leases of its own making: they are held around the run, and one that is lost is CONFLICT", async () => {
  const lost = new AbortController();
  const kept = new MemoryStore().open();
  let held = 0;
  class Own extends BaseCheckpointer {
    get capabilities(): CheckpointerCapabilities {
      return capabilities({ lease: true });
    }
    save(state: AgentState, threadId: string): Promise<string> {
      return kept.save(state, threadId);
    }
    load(threadId: string): Promise<AgentState | undefined> {
      return kept.load(threadId);
    }
    async listCheckpoints() {
      return [];
    }
    async delete() {
      return false;
    }
    override async withLease<T>(threadId: string, work: (lease: Lease) => Promise<T>): Promise<T> {
      held++;
      const lease = { threadId, owner: "o", token: "l", ttlMs: 1, signal: lost.signal };
      return work(lease);
    }
  }
  const asked = gate();
  const never: ScriptStep = () => {
    asked.open();
    return new Promise(() => undefined);
  };
  const agent = agentOf({ model: scriptedModel(["one", never]), checkpointer: new Own() });
  expect(await agent.run("1", { threadId: "t" })).toMatchObject({ text: "one" });
  const run = agent.run("2", { threadId: "t" });
  await asked.opened;
  lost.abort(new StateError("CONFLICT", "its lease was taken over"));
  expect(await failureOf(() => run)).toMatchObject({ code: "CONFLICT" });
  expect(held).toBe(2);
});
