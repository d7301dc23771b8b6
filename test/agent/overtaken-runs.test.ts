import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { placeOfTail } from "../../src/checkpoint/log/driver-rules.ts";
import { markRecord, openHeader } from "../../src/checkpoint/record/record.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

test("a run that is overtaken again and again asks its model once too often and no more", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  await checkpointer.save(AgentState.create().withMessage(userMessage("before")), "t");
  const append = store.log.append.bind(store.log);
  let lost = 0;
  // A script that wants no lease comes first each time.
  store.log.append = async (threadId, request) => {
    if (openHeader(request.record).thread?.lease !== undefined && lost < 10) {
      lost++;
      const other = store.open();
      await other.save((await other.load("t"))!.withMessage(userMessage(`script ${lost}`)), "t");
    }
    return append(threadId, request);
  };
  const model = scriptedModel(["ready", "ready", "ready"]);
  const run = agentOf({ model, checkpointer }).run("go", { threadId: "t" });
  expect(await run).toMatchObject({ text: "ready" });
  expect(lost).toBe(10);
  expect(model.requests).toHaveLength(2);
  expect(ofType(await eventsOf(run), "run-start")).toHaveLength(1);
});

test("a run that is refused although no other overtook it says why", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  await checkpointer.save(AgentState.create().withMessage(userMessage("before")), "t");
  const moved = { to: "elsewhere", at: 1 };
  const tail = (await store.log.tail("t"))!;
  const place = { seq: 2, writeId: "w", base: tail.entry.base, head: tail.entry.head };
  const record = markRecord("lease", place, 1, { moved });
  await store.log.append("t", { expected: placeOfTail(tail), record });
  const model = scriptedModel(["a", "b"]);
  const failure = await failureOf(() => agentOf({ model, checkpointer }).run("go", { threadId: "t" }));
  expect(failure).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("it was moved to elsewhere") });
  expect(model.requests.length).toBeLessThanOrEqual(1);
});

test("a run that has nothing to do and is overtaken while it looks begins again, too", async () => {
  const store = new MemoryStore();
  const pay = tool({ name: "pay", needsApproval: true, execute: () => "paid" });
  const model = scriptedModel([{ toolCalls: [{ name: "pay", id: "c" }] }]);
  await agentOf({ model, checkpointer: store.open(), tools: [pay] }).run("go", { threadId: "t" });
  const append = store.log.append.bind(store.log);
  store.log.append = async (threadId, request) => {
    store.log.append = append;
    const other = store.open();
    await other.save((await other.load("t"))!.withMetadata({ by: "a script" }), "t");
    return append(threadId, request);
  };
  let ended = 0;
  const hooks = { afterRun: () => void ended++ };
  const looks = agentOf({ model: scriptedModel([]), checkpointer: store.open(), tools: [pay], hooks });
  expect(await looks.run(undefined, { threadId: "t" })).toMatchObject({
    stopReason: "pending",
    state: { metadata: { by: "a script" } },
  });
  expect(ended).toBe(1);
});

test("runs that waited for another one ask no model before the thread is theirs", async () => {
  const store = new MemoryStore();
  const [begun, go] = [gate(), gate()];
  const work = tool({
    name: "work",
    execute: async () => {
      begun.open();
      await go.opened;
    },
  });
  const holds = agentOf({
    model: scriptedModel([{ toolCalls: [{ name: "work" }] }, "ready"]),
    checkpointer: store.open(),
    tools: [work],
  }).run("go", { threadId: "t" });
  await begun.opened;
  const models = ["a", "b", "c", "d"].map((answer) => scriptedModel([answer, answer, answer]));
  const waiting = models.map((model) =>
    agentOf({ model, checkpointer: store.open() }).run("me too", { threadId: "t" }),
  );
  for (const run of waiting) {
    for await (const event of run) if (event.type === "waiting") break;
  }
  go.open();
  await Promise.all([holds, ...waiting]);
  expect(models.map(({ requests }) => requests.length)).toEqual([1, 1, 1, 1]);
});
