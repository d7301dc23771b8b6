import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { smallRecords } from "../../../test/small-records-log.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { assistantMessage, toolMessage, userMessage } from "../../state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../testing/models/history-validators.ts";
import { Checkpointer } from "../checkpointer.ts";

const IDS = ["done", "intended", "waiting", "started", "unseen"] as const;
const entry = (toolCallId: string, status: ToolExecution["status"]): ToolExecution => ({
  toolCallId,
  toolName: "pay",
  status,
  idempotencyKey: `key of ${toolCallId}`,
});

/** A turn that was left with a call in every stage. */
const leftOpen = (): AgentState =>
  AgentState.create({ metadata: { user: "ann" } })
    .withMessages([
      userMessage("pay them all"),
      assistantMessage("", { toolCalls: IDS.map((id) => ({ id, name: "pay", arguments: {} })) }),
      toolMessage("paid", { toolCallId: "done", toolName: "pay" }),
    ])
    .withToolExecution(entry("done", "succeeded"))
    .withToolExecution(entry("intended", "intended"))
    .withToolExecution(entry("waiting", "waiting"))
    .withToolExecution(entry("started", "started"))
    .withInterrupt({ id: "waiting/1", toolCallId: "waiting", kind: "question", question: "now?", askedAt: 1 });

const loaded = async (checkpointer: Checkpointer, threadId: string): Promise<AgentState> => {
  const state = await checkpointer.load(threadId);
  if (state === undefined) throw new Error(`nothing is stored in ${threadId}`);
  return state;
};
const statusesIn = ({ toolExecutions }: AgentState): unknown =>
  Object.fromEntries(toolExecutions.map(({ toolCallId, status }) => [toolCallId, status]));
const keysIn = ({ toolExecutions }: AgentState): readonly unknown[] =>
  toolExecutions.map(({ idempotencyKey }) => idempotencyKey);

const SETTLED = { done: "succeeded", intended: "failed", waiting: "failed", started: "unknown", unseen: "unknown" };

function assertSettled(state: AgentState): void {
  expect(statusesIn(state)).toEqual(SETTLED);
  expect(state.interrupts).toEqual([]);
  expect(keysIn(state).filter((key) => String(key).startsWith("key of"))).toEqual(["key of done"]);
  expect(new Set(keysIn(state)).size).toBe(IDS.length);
  assertValidForOpenAI(state.messages);
  assertValidForAnthropic(state.messages);
  const said = (id: string): unknown =>
    state.messages.find((message) => message.role === "tool" && message.toolCallId === id)?.content;
  expect(said("intended")).toContain("was not run here");
  expect(said("started")).toContain("It may have taken effect");
}

describe("a fork settles the calls that are open in its source", () => {
  test("as not run here; the source keeps them", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    await checkpointer.save(leftOpen(), "t", { metadata: { user: "ann" } });
    await checkpointer.fork("t", "u");
    assertSettled(await loaded(checkpointer, "u"));
    expect(await loaded(checkpointer, "t")).toMatchObject({ toolExecutions: leftOpen().toolExecutions });
    const [summary] = await checkpointer.listCheckpoints("u");
    expect(summary).toMatchObject({ messageCount: 7, metadata: { user: "ann" } });
    expect((await checkpointer.stats("u"))?.checkpoints).toBe(1);
  });

  test("also where its state is too large for one record", async () => {
    const { log } = smallRecords(new MemoryLog(), 2_000);
    const checkpointer = new Checkpointer(log);
    let state = AgentState.create();
    for (let count = 0; count < 4; count++) {
      state = state.withMessage(userMessage(`${count} ${"long ".repeat(150)}`));
      await checkpointer.save(state, "t");
    }
    const { messages, toolExecutions, interrupts } = leftOpen();
    state = state.withMessages(messages.slice(1)).with({ toolExecutions, interrupts });
    await checkpointer.save(state, "t", { metadata: { user: "ann" } });
    await checkpointer.fork("t", "u");
    assertSettled(await loaded(checkpointer, "u"));
    expect((await loaded(checkpointer, "u")).messages).toHaveLength(10);
    expect(await checkpointer.listCheckpoints("u")).toMatchObject([{ messageCount: 10, metadata: { user: "ann" } }]);
  });

  test("those that are kept get keys of their own; one that was begun is settled all the same", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    await checkpointer.save(leftOpen(), "t");
    await checkpointer.fork("t", "u", { openCalls: "keep" });
    const state = await loaded(checkpointer, "u");
    expect(statusesIn(state)).toEqual({ ...SETTLED, intended: "intended", waiting: "waiting" });
    expect(state.interrupts).toEqual(leftOpen().interrupts);
    expect(keysIn(state).filter((key) => String(key).startsWith("key of"))).toEqual(["key of done"]);
  });

  test("a thread that has nothing open is forked as it is", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const settled = leftOpen().withMessages([assistantMessage("never mind")]);
    await checkpointer.save(settled, "t");
    await checkpointer.fork("t", "u");
    expect((await loaded(checkpointer, "u")).fields).toEqual(settled.fields);
  });
});

describe("a copy settles the calls that are open in its source", () => {
  test("by one more checkpoint; the history before it is the source's", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const first = await checkpointer.save(AgentState.create().withMessage(userMessage("hi")), "t");
    const open = await checkpointer.save(leftOpen(), "t", { metadata: { user: "ann" }, expectedHead: first });
    expect(await checkpointer.copyThread("t", "u")).toBe(true);
    assertSettled(await loaded(checkpointer, "u"));
    const ids = (await checkpointer.listCheckpoints("u")).map(({ checkpointId }) => checkpointId);
    expect(ids.slice(1)).toEqual([open, first]);
    expect(await checkpointer.getMetadata("u")).toEqual({ user: "ann" });
  });

  test("a copy for a thread that moves is exact", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    await checkpointer.save(leftOpen(), "t");
    await checkpointer.copyThread("t", "u", { openCalls: "keep" });
    expect((await loaded(checkpointer, "u")).fields).toEqual(leftOpen().fields);
  });

  test("a copy whose calls cannot be settled is not left behind", async () => {
    class Full extends MemoryLog {
      override async append(...given: Parameters<MemoryLog["append"]>): ReturnType<MemoryLog["append"]> {
        if (given[0] === "u") throw new Error("the disk is full");
        return super.append(...given);
      }
    }
    const checkpointer = new Checkpointer(new Full(), { retry: { attempts: 1 } });
    await checkpointer.save(leftOpen(), "t");
    await failureOf(() => checkpointer.copyThread("t", "u"));
    expect(await checkpointer.exists("u")).toBe(false);
  });
});

test("what fork and copy do with open calls is one of two words", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  await checkpointer.save(leftOpen(), "t");
  const options = { openCalls: "drop" } as object;
  for (const work of [() => checkpointer.fork("t", "u", options), () => checkpointer.copyThread("t", "u", options)]) {
    expect(await failureOf(work)).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(`"settle" or "keep"`),
    });
  }
});
