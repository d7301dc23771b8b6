import { afterEach, expect, test, vi } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { StateError } from "../../src/errors.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

afterEach(() => void vi.restoreAllMocks());

const HOUR_MS = 3_600_000;

/** From now on a clock is an hour ahead. */
function jump(clock: "wall" | "monotonic"): void {
  if (clock === "wall") {
    const now = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => now() + HOUR_MS);
  } else {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + HOUR_MS);
  }
}

/** An agent whose process does `meanwhile` between the saved claim of its call and the call. */
function sleeper(store: MemoryStore, acted: string[], meanwhile: () => Promise<void> | void) {
  let hasClaimed = false;
  const append = store.log.append.bind(store.log);
  store.log.append = async (...call) => {
    // Not by its place among the saves: on a busy machine they share appends in other ways.
    const isClaim = !hasClaimed && Buffer.from(call[1].record.body).includes('"started"');
    hasClaimed ||= isClaim;
    const outcome = await append(...call);
    if (isClaim) await meanwhile();
    return outcome;
  };
  return agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "pay", id: "c" }] }, "ready"]),
    tools: [payBy("the sleeper", acted)],
    checkpointer: store.open(),
  });
}

const payBy = (name: string, acted: string[]) =>
  tool({ name: "pay", execute: () => void acted.push(name), verify: () => ({ outcome: "not-done" }) });

test.each(["wall", "monotonic"] as const)(
  "a run that slept by the %s clock, with another on its thread meanwhile, does not begin its call",
  async (clock) => {
    const store = new MemoryStore();
    const acted: string[] = [];
    const asleep = sleeper(store, acted, async () => {
      const tools = [payBy("its successor", acted)];
      store.killAll();
      await agentOf({ model: scriptedModel(["ready"]), tools, checkpointer: store.open() }).run(undefined, {
        threadId: "t",
      });
      jump(clock);
    });
    expect(await failureOf(() => asleep.run("go", { threadId: "t" }))).toMatchObject({ code: "CONFLICT" });
    expect(acted).toEqual(["its successor"]);
    expect(await store.statuses()).toEqual(["succeeded"]);
  },
);

test.each(["wall", "monotonic"] as const)(
  "a run that slept by the %s clock and still has its thread begins its call",
  async (clock) => {
    const store = new MemoryStore();
    const acted: string[] = [];
    const asleep = sleeper(store, acted, () => jump(clock));
    expect(await asleep.run("go", { threadId: "t" })).toMatchObject({ stopReason: "complete" });
    expect(acted).toEqual(["the sleeper"]);
  },
);

test("a run that slept and cannot ask the storage begins nothing, and the call stays as it was asked for", async () => {
  const store = new MemoryStore();
  const acted: string[] = [];
  const asleep = sleeper(store, acted, () => {
    jump("wall");
    const { append } = store.log;
    let isAway = true;
    store.log.append = async (...call) => {
      if (!isAway) return append(...call);
      isAway = false;
      throw new StateError("UNAVAILABLE", "the storage is away", { written: "no" });
    };
  });
  const failure = await failureOf(() => asleep.run("go", { threadId: "t" }));
  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(acted).toEqual([]);
  expect(await store.statuses()).toEqual(["intended"]);
});

test("a lease that is over before the storage's confirmation arrives is told of, and nothing is begun", async () => {
  const store = new MemoryStore();
  const acted: string[] = [];
  let hours = 0;
  const asleep = sleeper(store, acted, () => {
    const now = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => now() + HOUR_MS * hours);
    const { append } = store.log;
    hours++;
    store.log.append = (...call) => {
      hours++;
      return append(...call);
    };
  });
  const failure = await failureOf(() => asleep.run("go", { threadId: "t" }));
  expect(failure).toMatchObject({ code: "TIMEOUT", message: expect.stringContaining("set a longer lease") });
  expect(acted).toEqual([]);
});
