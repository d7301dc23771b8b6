import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import { MOST_WAITING } from "../../checkpoint/signals/mailbox.ts";
import type { SentSignal, Signal } from "../../checkpoint/signals/signal.ts";
import { textOf } from "../../state/message.ts";
import { another } from "../conformance-case.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { copyStorage } from "../storage-copy.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, conversation, growThread, historyOf, loaded } from "./conversations.ts";

const NEEDS = ["conditionalSave", "history", "log"] as const;

const idsOf = async (subject: BaseCheckpointer, threadId = "t"): Promise<readonly string[]> =>
  (await subject.signals(threadId)).map(({ id }) => id);

const saidBy = (signal: SentSignal): string => (signal.kind === "message" ? textOf(signal.message) : signal.kind);

/** How many records the thread has. */
async function countRecords(subject: BaseCheckpointer, threadId = "t"): Promise<number> {
  const chain = await contextOf(subject)?.log.readRecords(threadId, { limit: 1000 });
  return chain?.records.length ?? 0;
}

export const signalCases: readonly CheckpointerCase[] = checkpointerCasesOf("signals", [
  {
    name: "signals to a thread wait in order, visible to every process, and are not yet part of its state or history",
    needs: NEEDS,
    run: async (fixture) => {
      const { subject } = fixture;
      const { ids } = await growThread(subject, "t", 2);
      assert.deepEqual(await subject.signals("t"), []);
      assert.deepEqual(await subject.send("t", { message: "first" }, { id: "one" }), { id: "one", isRepeated: false });
      await subject.send("t", { answer: [{ id: "c1/approval", response: { decision: "approve" } }] }, { id: "two" });
      await subject.send("t", { answer: { id: "c2/1", decline: "not now" } }, { id: "three" });
      await subject.send("t", { result: { toolCallId: "c3", error: new Error("sold out") } }, { id: "four" });
      const { id: fifth } = await subject.send("t", { cancel: "enough" });
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
      for (const reader of [subject, fixture.reopen === undefined ? subject : await another(fixture)]) {
        const waiting = await reader.signals("t");
        assert.deepEqual(
          waiting.map(({ id }) => id),
          ["one", "two", "three", "four", fifth],
        );
        assert.deepEqual(
          waiting.map(({ id: _, sentAt: __, ...signal }) => signal),
          [
            { kind: "message", message: { role: "user", content: "first", id: "one" } },
            { kind: "answers", answers: [{ id: "c1/approval", value: { decision: "approve" } }] },
            { kind: "answers", answers: [{ id: "c2/1", declined: true, reason: "not now" }] },
            { kind: "answers", answers: [{ toolCallId: "c3", error: "sold out" }] },
            { kind: "cancel", reason: "enough" },
          ],
        );
        assert.equal((await loaded(reader, "t")).messages.length, 2);
      }
    },
  },
  {
    name: "a save goes behind signals; those that it consumes are gone with it, and the others wait on in their order",
    needs: NEEDS,
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 2);
      for (const id of ["a", "b", "c"]) await subject.send("t", { message: id }, { id });
      const third = and(state, "message 3");
      const thirdId = await subject.save(third, "t");
      assert.deepEqual(await idsOf(subject), ["a", "b", "c"]);
      await subject.send("t", { message: "d" }, { id: "d" });
      const fourth = and(third, "message 4");
      const fourthId = await subject.save(fourth, "t", { consumes: ["a", "c"] });
      assert.deepEqual((await subject.signals("t")).map(saidBy), ["b", "d"]);
      const fifthId = await subject.save(and(fourth, "message 5"), "t", { consumes: ["b", "d"] });
      assert.deepEqual(await subject.signals("t"), []);
      assert.equal(await countRecords(subject), 5, "no record of a signal is left");
      await assertHistory(subject, "t", [
        [fifthId, 5],
        [fourthId, 4],
        [thirdId, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a checkpoint of another writer between signals is still CONFLICT",
    needs: NEEDS,
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      await subject.send("t", { message: "before" }, { id: "before" });
      await subject.save(and(state, "message 2"), "t");
      await subject.send("t", { message: "after" }, { id: "after" });
      const late = () => subject.save(and(state, "late"), "t", { consumes: ["before"] });
      await failsWith("CONFLICT", late, "a save of a state that is not the newest");
      assert.deepEqual(await idsOf(subject), ["before", "after"], "and it consumed nothing");
      assert.equal((await loaded(subject, "t")).messages.length, 2);
    },
  },
  {
    name: "the same id is one signal: while it waits, after it was consumed, and after a vacuum",
    needs: [...NEEDS, "vacuum"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 2);
      await subject.send("t", { message: "once" }, { id: "one" });
      assert.equal((await subject.send("t", { message: "once" }, { id: "one" })).isRepeated, true);
      assert.deepEqual(await idsOf(subject), ["one"]);
      const next = and(state, "message 3");
      await subject.save(next, "t", { consumes: ["one"] });
      assert.equal((await subject.send("t", { message: "once" }, { id: "one" })).isRepeated, true);
      await subject.save(and(next, "message 4"), "t");
      await subject.send("t", { message: "waits" }, { id: "two" });
      await subject.vacuum({ keepLast: 1 });
      assert.equal((await subject.send("t", { message: "once" }, { id: "one" })).isRepeated, true);
      assert.deepEqual(await idsOf(subject), ["two"], "what waits survives a vacuum");
      assert.equal((await historyOf(subject, "t")).length, 1);
    },
  },
  {
    name: "the number of waiting signals is limited: the next is TOO_LARGE to its sender, nothing is written, and the holder still saves",
    needs: NEEDS,
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      for (let each = 0; each < MOST_WAITING; each++)
        await subject.send("t", { message: `${each}` }, { id: `${each}` });
      const before = await countRecords(subject);
      const error = await failsWith("TOO_LARGE", () => subject.send("t", { cancel: true }), "one more");
      assert.equal(error.context.written, "no");
      assert.equal(await countRecords(subject), before);
      const large = "x".repeat(2 * 1024 * 1024);
      const ids = await idsOf(subject);
      assert.equal(ids.length, MOST_WAITING);
      const next = and(state, "message 2");
      await subject.save(next, "t", { consumes: ids.slice(0, 60) });
      assert.deepEqual(await idsOf(subject), ids.slice(60));
      await failsWith("TOO_LARGE", () => subject.send("t", { message: large }), "a large one");
      await subject.save(and(next, "message 3"), "t");
      assert.deepEqual(await idsOf(subject), ids.slice(60));
    },
  },
  {
    name: "a sender needs no lease, and its holder saves on under it",
    needs: [...NEEDS, "lease"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      await subject.withLease("t", async (lease) => {
        await subject.send("t", { message: "words" }, { id: "one" });
        const next = and(state, "message 2");
        await subject.save(next, "t", { lease });
        await subject.send("t", { cancel: true }, { id: "two" });
        await failsWith("CONFLICT", () => subject.save(and(next, "lost"), "t"), "a save without the lease");
        await subject.save(and(next, "message 3"), "t", { lease, consumes: ["one", "two"] });
      });
      assert.deepEqual(await subject.signals("t"), []);
      assert.equal((await loaded(subject, "t")).messages.length, 3);
    },
  },
  {
    name: "forks and copies take no signal along, and go on as threads of their own",
    needs: [...NEEDS, "branching"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      await subject.send("t", { message: "for t" }, { id: "one" });
      await subject.fork("t", "fork");
      assert.equal(await subject.copyThread("t", "copy"), true);
      for (const threadId of ["fork", "copy"]) {
        assert.deepEqual(await subject.signals(threadId), [], threadId);
        assert.equal(
          await countRecords(subject, threadId),
          threadId === "fork" ? 1 : 3,
          `${threadId}: no signal lies there`,
        );
        assert.equal((await subject.send(threadId, { message: "own" }, { id: "one" })).isRepeated, false, threadId);
        await subject.save(and(await loaded(subject, threadId), "message 3"), threadId, { consumes: ["one"] });
        assert.deepEqual(await subject.signals(threadId), [], threadId);
      }
      assert.deepEqual(await idsOf(subject), ["one"]);
    },
  },
  {
    name: "a copy whose maker died before it took the signals out acts on none of them",
    needs: [...NEEDS, "branching"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 1);
      await subject.send("t", { message: "for t" }, { id: "one" });
      await contextOf(subject)?.log.copy("t", "copy", "another generation");
      assert.deepEqual(await subject.signals("copy"), []);
      assert.equal((await subject.send("copy", { message: "own" }, { id: "one" })).isRepeated, false);
      assert.equal(await countRecords(subject, "copy"), 2, "the next write takes them out");
      assert.deepEqual(await idsOf(subject, "copy"), ["one"]);
    },
  },
  {
    name: "a thread that is not there, or was deleted, refuses what is sent to it",
    needs: NEEDS,
    run: async ({ subject }) => {
      await failsWith("NOT_FOUND", () => subject.send("t", { message: "hello" }), "no thread");
      assert.deepEqual(await subject.signals("t"), []);
      await growThread(subject, "t", 1);
      await subject.send("t", { message: "hello" });
      await subject.delete("t");
      await failsWith("NOT_FOUND", () => subject.send("t", { message: "hello" }), "a deleted thread");
      await subject.save(conversation(1), "t");
      assert.deepEqual(await subject.signals("t"), [], "a new thread of that name begins without");
    },
  },
  {
    name: "a thread is made for what is sent to it where the sender says so, once",
    needs: NEEDS,
    run: async ({ subject }) => {
      const send = (id: string) => subject.send("t", { message: id }, { id, create: true });
      await Promise.all(["a", "b", "a"].map(send));
      await send("c");
      assert.deepEqual([...(await idsOf(subject))].sort(), ["a", "b", "c"]);
      assert.equal((await historyOf(subject, "t")).length, 1);
      assert.equal((await loaded(subject, "t")).messages.length, 0);
    },
  },
  {
    name: "a sender that never stops does not stop the holder, and every signal that was taken is consumed once",
    needs: NEEDS,
    run: async ({ subject }) => {
      const { state: first } = await growThread(subject, "t", 1);
      let isOver = false;
      const sent: string[] = [];
      const sending = (async () => {
        for (let each = 0; !isOver; each++) {
          const refusal = await subject.send("t", { message: `${each}` }, { id: `${each}` }).then(
            () => undefined,
            (error: unknown) => error,
          );
          if (refusal === undefined) sent.push(`${each}`);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      let state = first;
      const consumed: string[] = [];
      for (let each = 0; each < 12; each++) {
        const ids = await idsOf(subject);
        state = and(state, `holder ${each}`);
        await subject.save(state, "t", { consumes: ids });
        consumed.push(...ids);
      }
      isOver = true;
      await sending;
      consumed.push(...(await idsOf(subject)));
      assert.deepEqual(consumed, sent);
      assert.equal((await loaded(subject, "t")).messages.length, 13);
    },
  },
  {
    name: "of many senders at once each signal waits once, and none is lost",
    needs: NEEDS,
    run: async ({ subject }) => {
      await growThread(subject, "t", 1);
      const ids = Array.from({ length: 12 }, (_, index) => `s${index % 6}`);
      await Promise.all(ids.map((id) => subject.send("t", { message: id }, { id })));
      assert.deepEqual([...(await idsOf(subject))].sort(), ["s0", "s1", "s2", "s3", "s4", "s5"]);
    },
  },
  {
    name: "after a storage went back in time, a consumed id is remembered, and a signal that came back waits again",
    needs: [...NEEDS, "reopen", "copy"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { state } = await growThread(subject, "t", 2);
      const beforeIt = await copyStorage(fixture, "t");
      await subject.send("t", { message: "words" }, { id: "one" });
      await beforeIt();
      await subject.save(and(state, "message 3"), "t", { consumes: ["one"] });
      assert.equal((await subject.send("t", { message: "words" }, { id: "one" })).isRepeated, true);
      await subject.send("t", { message: "more" }, { id: "two" });
      const now = await loaded(subject, "t");
      const withIt = await copyStorage(fixture, "t");
      await subject.save(and(now, "message 4"), "t", { consumes: ["two"] });
      await withIt();
      const other = await another(fixture);
      assert.deepEqual(await idsOf(other), ["two"]);
      await other.save(and(await loaded(other, "t"), "of the other"), "t", { consumes: ["two"] });
      await failsWith(
        "CONFLICT",
        () => subject.save(and(and(now, "message 4"), "message 5"), "t"),
        "the process that consumed it in the history that is gone",
      );
      assert.deepEqual(await idsOf(other), []);
    },
  },
  {
    name: "what is no signal is refused and says what one is",
    needs: NEEDS,
    run: async ({ subject }) => {
      await growThread(subject, "t", 1);
      const wrong: readonly unknown[] = [
        undefined,
        "hello",
        {},
        { message: "a", cancel: true },
        { message: 5 },
        { message: [] },
        { answer: [] },
        { answer: { id: "a" } },
        { answer: { id: 1, response: 2 } },
        { answer: { id: "a", response: 1, decline: true } },
        { answer: { id: "a", decline: 5 } },
        { result: { toolCallId: "a" } },
        { result: { toolCallId: "a", result: 1, error: 2 } },
        { cancel: false },
        { speak: "hello" },
      ];
      for (const signal of wrong) {
        const error = await failureOf(() => subject.send("t", signal as Signal), JSON.stringify(signal));
        assert.ok(error instanceof TypeError, `${JSON.stringify(signal)}: ${String(error)}`);
      }
      for (const id of ["", "a\nb", "x".repeat(2000)]) {
        await failsWith("INVALID_ARGUMENT", () => subject.send("t", { cancel: true }, { id }), `id ${id.slice(0, 5)}`);
      }
      const circular: Record<string, unknown> = {};
      circular["self"] = circular;
      for (const response of [circular, () => 1, Symbol("no")]) {
        const send = () => subject.send("t", { answer: { id: "a", response } });
        await failsWith("INVALID_ARGUMENT", send, `a response that is ${typeof response}`);
      }
      assert.deepEqual(await subject.signals("t"), []);
    },
  },
]);
