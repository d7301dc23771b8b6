import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { type Message, userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogCapabilities } from "../log/thread-log.ts";
import { type PlannedBody, planBody, type Room } from "./plan-record.ts";

interface Life {
  /** Of every payload ever written. */
  readonly written: number;
  readonly bases: number;
  readonly plans: readonly PlannedBody[];
  readonly last: PlannedBody;
  readonly state: AgentState;
  readonly stateBytes: number;
}

/** What a thread of `steps` saves would write. */
const room = (maxChainRecords: number = Number.POSITIVE_INFINITY): Room => ({
  maxChainRecords,
  maxRecordBytes: 1024 ** 2 * 64,
});

function live(steps: number, maxChainRecords: number, change: (state: AgentState, step: number) => AgentState): Life {
  const plans: PlannedBody[] = [];
  let state = AgentState.create();
  let last = planBody(state.fields, undefined, room(maxChainRecords));
  plans.push(last);
  for (let step = 1; step <= steps; step++) {
    const next = change(state, step);
    last = planBody(next.fields, { fields: state.fields, chain: last.chain }, room(maxChainRecords));
    plans.push(last);
    state = next;
  }
  return {
    written: plans.reduce((sum, { body }) => sum + body.byteLength, 0),
    bases: plans.filter(({ kind }) => kind === "base").length,
    plans,
    last,
    state,
    stateBytes: JSON.stringify(state.toCheckpoint()).length,
  };
}

const text = (step: number): string => `${step} `.padEnd(200, "x");
const append = (state: AgentState, step: number): AgentState => state.withMessage(userMessage(text(step)));
const overwrite = (state: AgentState, step: number): AgentState => state.withMetadata({ progress: text(step) });

describe("5,000 saves that each add a message", () => {
  test("write about what was added, and one base", () => {
    const life = live(5_000, Number.POSITIVE_INFINITY, append);
    expect(life.bases).toBe(1);
    expect(life.written).toBeLessThan(1.3 * life.stateBytes);
    expect(life.last.chain.bytes).toBe(life.written);
  });

  test("write little more where records are read one by one, and a base only after as much was added", () => {
    const life = live(5_000, 16, append);
    expect(life.written).toBeLessThan(3.5 * life.stateBytes);
    expect(life.bases).toBeGreaterThan(2);
    for (const { kind, chain } of life.plans) {
      if (kind === "delta") expect(chain.records <= 16 || chain.bytes < 2 * chain.baseBytes).toBe(true);
    }
  });
});

describe("5,000 saves that each replace one value", () => {
  test("write about what was replaced, and a load reads a bounded amount", () => {
    const life = live(5_000, Number.POSITIVE_INFINITY, overwrite);
    const added = life.plans.reduce((sum, { kind, body }) => sum + (kind === "delta" ? body.byteLength : 0), 0);
    expect(life.written).toBeLessThan(1.5 * added);
    for (const { chain } of life.plans) expect(chain.bytes).toBeLessThan(100_000);
  });

  test("keep the chain as short as asked for", () => {
    const life = live(5_000, 16, overwrite);
    for (const { chain } of life.plans) expect(chain.records).toBeLessThanOrEqual(17);
    const added = 5_000 * life.plans[1]!.body.byteLength;
    expect(life.written).toBeLessThan(4 * added);
  });
});

test("saves that each add a little and replace something large leave a load that reads about the state", () => {
  const large = "x".repeat(4_000);
  const life = live(400, Number.POSITIVE_INFINITY, (state, step) =>
    state.withMessage(userMessage(`m${step}`)).withProviderState({ cache: `${large}${step}` }),
  );
  expect(life.last.chain.bytes).toBeLessThan(4 * life.stateBytes + 128 * 1024);
});

describe("what a save costs does not depend on what there is", () => {
  const long = live(1_000, Number.POSITIVE_INFINITY, append);
  const costOf = (change: (state: AgentState) => AgentState): number => {
    const before = { fields: long.state.fields, chain: long.last.chain };
    return planBody(change(long.state).fields, before, room()).body.byteLength;
  };

  test.each<[string, (state: AgentState) => AgentState]>([
    ["nothing new", (state) => state],
    ["one message", (state) => state.withMessage(userMessage("x"))],
    ["one key of the metadata", (state) => state.withMetadata({ a: 1 })],
    ["one tool execution", (state) => state.withToolExecution({ toolCallId: "c", toolName: "t", status: "started" })],
    ["the totals", (state) => state.withUsage({ inputTokens: 1 })],
    ["the last message edited", (state) => state.withHistory(state.messages.with(-1, userMessage("edited")))],
    ["the last message dropped", (state) => state.withHistory(state.messages.slice(0, -1))],
  ])("%s", (_, change) => {
    expect(costOf(change)).toBeLessThan(300);
  });

  test("the only tool execution settled", () => {
    const started = long.state.withToolExecution({ toolCallId: "c", toolName: "t", status: "started" });
    const before = { fields: started.fields, chain: long.last.chain };
    const settled = started.withToolExecution({ toolCallId: "c", toolName: "t", status: "succeeded" });
    expect(planBody(settled.fields, before, room()).body.byteLength).toBeLessThan(300);
  });
});

describe("a rewritten history", () => {
  test("writes a base, and the chain begins with it", () => {
    const { state, last } = live(100, Number.POSITIVE_INFINITY, append);
    const compacted = state.withHistory([userMessage("summary"), ...state.messages.slice(-5)]);
    const plan = planBody(compacted.fields, { fields: state.fields, chain: last.chain }, room());
    expect(plan.kind).toBe("base");
    expect(plan.chain).toEqual({
      records: 1,
      bytes: plan.body.byteLength,
      liveBytes: plan.body.byteLength,
      baseBytes: plan.body.byteLength,
    });
    expect(plan.freshMessages, "only the summary is new").toEqual([0]);
    expect(plan.newMessages).toEqual([userMessage("summary")]);
  });
});

test("each message is handed to the index once in its life, whatever becomes of the history", () => {
  let state = AgentState.create();
  let before: { fields: AgentState["fields"]; chain: PlannedBody["chain"] } | undefined;
  const indexed: string[] = [];
  const messages = Array.from({ length: 60 }, (_, index): Message => userMessage(`word${index}`));
  for (const [index, message] of messages.entries()) {
    state = index % 20 === 19 ? state.withHistory([...state.messages.slice(-2), message]) : state.withMessage(message);
    const plan = planBody(state.fields, before, room(4));
    indexed.push(...plan.newMessages.map((added) => String(added.content)));
    before = { fields: state.fields, chain: plan.chain };
  }
  expect(indexed).toEqual(messages.map(({ content }) => content));
});

describe("a checkpointer on storage that reads records one by one", () => {
  class ByKey extends MemoryLog {
    override readonly capabilities: LogCapabilities = {
      durability: "memory",
      conditionalAppend: true,
      listThreads: true,
      ttl: true,
      maxRecordBytes: 1024 * 1024,
      maxChainRecords: 4,
    };
  }

  test("loads every checkpoint of a long thread from few records", async () => {
    const checkpointer = new Checkpointer(new ByKey());
    let state = AgentState.create();
    for (let step = 0; step < 60; step++) {
      state = overwrite(state, step);
      await checkpointer.save(state, "t", { checkpointId: `c${step}` });
    }
    for (let step = 0; step < 60; step += 7) {
      const loaded = await checkpointer.load("t", { checkpointId: `c${step}` });
      expect(loaded?.metadata["progress"]).toBe(text(step));
    }
    expect((await checkpointer.stats("t"))?.loadRecords).toBeLessThanOrEqual(5);
  });

  test("refuses what does not fit, names the sizes, and writes nothing", async () => {
    const checkpointer = new Checkpointer(new ByKey());
    const large = AgentState.create().withMessage(userMessage("x".repeat(1024 * 1024)));
    await expect(checkpointer.save(large, "t")).rejects.toMatchObject({ code: "TOO_LARGE" });
    await expect(checkpointer.save(large, "t")).rejects.toThrow(
      /what is new in thread "t" is at least 1048\d{3} bytes; memory takes at most 1048576. Save it in several steps/,
    );
    expect(await checkpointer.exists("t")).toBe(false);
  });
});
