import { describe, expect, test } from "vitest";
import { AlteredLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { assistantMessage, toolMessage, userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { isReadable } from "../log/listed-threads.ts";

const entry = (toolCallId: string, status: ToolExecution["status"]): ToolExecution => ({
  toolCallId,
  toolName: "pay",
  status,
  idempotencyKey: `key of ${toolCallId}`,
});
const asking = (...ids: string[]): AgentState =>
  AgentState.create({ metadata: { user: "ann" } }).withMessages([
    userMessage("pay"),
    assistantMessage("", { toolCalls: ids.map((id) => ({ id, name: "pay", arguments: { to: id } })) }),
  ]);
const waiting = (): AgentState =>
  asking("c")
    .withToolExecution(entry("c", "waiting"))
    .withInterrupt({ id: "c/approval", toolCallId: "c", kind: "approval", question: "May it?", askedAt: 5 });
const UNKNOWN = toolMessage("its outcome is unknown", { toolCallId: "c", toolName: "pay", isError: true });
const inDoubt = (): AgentState =>
  asking("c")
    .withToolExecution({ ...entry("c", "unknown"), settledAt: 7, error: "?" })
    .withMessages([UNKNOWN, assistantMessage("I do not know")]);
const begun = (): AgentState => asking("c").withToolExecution(entry("c", "started"));
const finished = (): AgentState => AgentState.create().withMessages([userMessage("hi"), assistantMessage("yes?")]);

const filled = async (log = new MemoryLog()): Promise<Checkpointer> => {
  const checkpointer = new Checkpointer(log, { cacheBytes: 0 });
  const threads = { "a/waits": waiting(), "a/doubt": inDoubt(), "b/begun": begun(), "b/done": finished() };
  for (const [threadId, state] of Object.entries(threads)) await checkpointer.save(state, threadId);
  await checkpointer.save(AgentState.create().withMessage(userMessage("hello?")), "b/asked");
  return checkpointer;
};

describe("what a thread waits for is in its record's header", () => {
  test("and shown in summaries of threads and of checkpoints", async () => {
    const checkpointer = await filled();
    const shown = Object.fromEntries(
      (await checkpointer.listWithMetadata()).map(({ threadId, standing }) => [threadId, standing]),
    );
    expect(shown).toEqual({
      "a/waits": { waiting: 1, open: 1, unfinished: true },
      "a/doubt": { inDoubt: 1 },
      "b/begun": { open: 1, inDoubt: 1, unfinished: true },
      "b/done": undefined,
      "b/asked": { unfinished: true },
    });
    expect(await checkpointer.listCheckpoints("a/waits")).toMatchObject([{ standing: { waiting: 1 } }]);
  });

  test("lists are narrowed by it", async () => {
    const checkpointer = await filled();
    const ids = async (standing: never): Promise<readonly string[]> =>
      (await checkpointer.listWithMetadata({ standing })).map(({ threadId }) => threadId).toSorted();
    expect(await ids("waiting" as never)).toEqual(["a/waits"]);
    expect(await ids("unfinished" as never)).toEqual(["a/waits", "b/asked", "b/begun"]);
    expect(await ids(["waiting", "inDoubt"] as never)).toEqual(["a/doubt", "a/waits", "b/begun"]);
    for (const wrong of ["lost", [], "__proto__"]) {
      expect((await failureOf(() => ids(wrong as never))).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("a fork says what it waits for itself", async () => {
    const checkpointer = await filled();
    await checkpointer.fork("a/waits", "settled");
    await checkpointer.fork("a/waits", "kept", { openCalls: "keep" });
    const standings = await Promise.all(
      ["settled", "kept"].map(async (id) => (await checkpointer.listCheckpoints(id))[0]?.standing),
    );
    expect(standings).toEqual([{ unfinished: true }, { waiting: 1, open: 1, unfinished: true }]);
  });
});

describe("the inbox", () => {
  test("lists what only people can bring, with what they need for it", async () => {
    const items = await (await filled()).inbox();
    expect(items.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
      {
        threadId: "a/waits",
        kind: "approval",
        id: "c/approval",
        toolCallId: "c",
        toolName: "pay",
        arguments: { to: "c" },
        question: "May it?",
        idempotencyKey: "key of c",
        since: new Date(5),
        metadata: { user: "ann" },
      },
      {
        threadId: "a/doubt",
        id: "c/result",
        kind: "external",
        isInDoubt: true,
        toolCallId: "c",
        toolName: "pay",
        arguments: { to: "c" },
        question: "Did the call of pay take effect?",
        idempotencyKey: "key of c",
        since: new Date(7),
        metadata: { user: "ann" },
      },
    ]);
  });

  test("has a call that a process began and did not end, once nothing runs the thread", async () => {
    let now = 1_000_000;
    const checkpointer = new Checkpointer(new MemoryLog(), { now: () => now });
    await checkpointer.save(begun(), "b");
    expect(await checkpointer.inbox()).toEqual([]);
    now += 60_000;
    expect(await checkpointer.inbox()).toMatchObject([{ threadId: "b", id: "c/result", isInDoubt: true }]);
    await checkpointer.settleCall("b", "c", { outcome: "not-done", by: "ann" });
    expect(await checkpointer.inbox()).toEqual([]);
  });

  test("has nothing that an answer was sent for", async () => {
    const checkpointer = await filled();
    await checkpointer.send("a/waits", { answer: { id: "c/approval", response: { decision: "approve" } } });
    expect((await checkpointer.inbox()).map(({ threadId }) => threadId)).toEqual(["a/doubt"]);
  });

  test("is read page by page, under a prefix", async () => {
    const checkpointer = await filled();
    const first = await checkpointer.inbox({ threadPrefix: "a/", limit: 1 });
    const second = await checkpointer.inbox({ threadPrefix: "a/", limit: 1, cursor: first.cursor ?? "" });
    expect([...first, ...second].map(({ threadId }) => threadId).toSorted()).toEqual(["a/doubt", "a/waits"]);
    expect(await checkpointer.inbox({ threadPrefix: "a*" })).toEqual([]);
    expect((await failureOf(() => checkpointer.inbox({ prefix: "a" } as object))).message).toMatch(
      /no option "prefix"/,
    );
  });

  test("a thread that is damaged is a warning and hides no other", async () => {
    const log = new AlteredLog();
    const checkpointer = await filled(log);
    const { head } = (await log.listThreads({ prefix: "a/doubt", limit: 1 })).items.filter(isReadable)[0] ?? {};
    log.alter = (each) =>
      each.writeId === head?.writeId && "body" in each ? { ...each, body: Buffer.from("x") } : each;
    const items = await checkpointer.inbox();
    expect(items.map(({ threadId }) => threadId)).toEqual(["a/waits"]);
    expect(items.warnings).toMatchObject([{ threadId: "a/doubt", code: "CORRUPT" }]);
  });
});

describe("settleCall", () => {
  test.each([
    ["done", "succeeded", false],
    ["not-done", "failed", true],
  ] as const)(
    "%s: the ledger says who found out, and the model is told in the place of the doubt",
    async (outcome, status, isError) => {
      const checkpointer = await filled();
      await checkpointer.save(inDoubt(), "t", { metadata: { tag: 1 } });
      await checkpointer.settleCall("t", "c", { outcome, by: "ann", reason: "looked it up", result: "receipt 7" });
      const state = await checkpointer.load("t");
      expect(state?.toolExecutions).toMatchObject([
        { toolCallId: "c", status, idempotencyKey: "key of c", settledBy: { by: "ann", reason: "looked it up" } },
      ]);
      expect(state?.messages).toHaveLength(4);
      const told = state?.messages[2];
      expect(told).toMatchObject({ role: "tool", toolCallId: "c", content: expect.stringContaining("receipt 7") });
      expect((told as { isError?: boolean }).isError ?? false).toBe(isError);
      expect(await checkpointer.getMetadata("t")).toEqual({ tag: 1 });
      expect((await checkpointer.inbox()).map(({ threadId }) => threadId)).not.toContain("t");
    },
  );

  test("a call that was begun and never settled is settled by its first result", async () => {
    const checkpointer = await filled();
    await checkpointer.settleCall("b/begun", "c", { outcome: "done", by: "ann" });
    const state = await checkpointer.load("b/begun");
    expect(state?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect((await checkpointer.listCheckpoints("b/begun"))[0]?.standing).toEqual({ unfinished: true });
  });

  test("a call that is not in doubt, or not there, is refused and left as it is", async () => {
    const checkpointer = await filled();
    const settle = (threadId: string, id: string) =>
      failureOf(() => checkpointer.settleCall(threadId, id, { outcome: "done", by: "ann" }));
    expect(await settle("a/waits", "c")).toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("waiting"),
    });
    expect((await settle("a/waits", "d")).code).toBe("NOT_FOUND");
    expect((await settle("nowhere", "c")).code).toBe("NOT_FOUND");
    expect((await checkpointer.load("a/waits"))?.fields).toEqual(waiting().fields);
  });

  test("a settlement without an author, or by another word, is refused", async () => {
    const checkpointer = await filled();
    const settle = (given: object) => failureOf(() => checkpointer.settleCall("a/doubt", "c", given as never));
    expect((await settle({ outcome: "done" })).message).toMatch(/by must name who/);
    expect((await settle({ outcome: "maybe", by: "ann" })).message).toMatch(/"done" or "not-done"/);
    expect((await settle({ outcome: "done", by: "ann", resaon: "x" })).message).toMatch(/did you mean "reason"/);
  });
});
