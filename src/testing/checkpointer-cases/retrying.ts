import assert from "node:assert/strict";
import { uncheckedHead } from "../../checkpoint/base-checkpointer.ts";
import { another } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { REFUSED_IDS } from "../hostile-ids.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, assertNoThread, conversation, growThread, historyOf, loaded } from "./conversations.ts";

export const retryingCases: readonly CheckpointerCase[] = checkpointerCasesOf("retries", [
  {
    name: "one save made twice with the same writeId is applied once",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 2);
      const third = and(state, "message 3");
      const first = await subject.save(third, "t", { writeId: "attempt" });
      assert.equal(await subject.save(third, "t", { writeId: "attempt" }), first);
      await assertHistory(subject, "t", [
        [first, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "the creation of a thread made twice with the same writeId is applied once",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const first = await subject.save(conversation(1), "t", { writeId: "attempt" });
      assert.equal(await subject.save(conversation(1), "t", { writeId: "attempt" }), first);
      await assertHistory(subject, "t", [[first, 1]]);
    },
  },
  {
    name: "a save repeated by another instance with the same writeId and expectedHead is applied once",
    needs: ["conditionalSave", "history", "reopen"],
    run: async (fixture) => {
      const { state, ids } = await growThread(fixture.subject, "t", 2);
      const options = { writeId: "attempt", expectedHead: ids[1] as string };
      const first = await fixture.subject.save(and(state, "message 3"), "t", options);
      const other = await another(fixture);
      assert.equal(await other.save(conversation(3), "t", options), first);
      await assertHistory(other, "t", [
        [first, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a save repeated by another instance that loaded it meanwhile is applied once",
    needs: ["conditionalSave", "history", "reopen"],
    run: async (fixture) => {
      const { state } = await growThread(fixture.subject, "t", 2);
      const first = await fixture.subject.save(and(state, "message 3"), "t", { writeId: "attempt" });
      const other = await another(fixture);
      assert.equal(await other.save(await loaded(other, "t"), "t", { writeId: "attempt" }), first);
      assert.equal((await historyOf(other, "t")).length, 3);
    },
  },
  {
    name: "an unchecked save made twice with the same writeId is applied once",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      const options = { writeId: "attempt", expectedHead: uncheckedHead } as const;
      const first = await subject.save(conversation(3), "t", options);
      assert.equal(await subject.save(conversation(3), "t", options), first);
      assert.equal((await historyOf(subject, "t")).length, 3);
    },
  },
  {
    name: "a repeated save is recognised after others followed it",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      const second = and(state, "message 2");
      const first = await subject.save(second, "t", {
        writeId: "attempt",
        expectedHead: (await historyOf(subject, "t"))[0] as string,
      });
      await subject.save(and(second, "message 3"), "t");
      const head = (await historyOf(subject, "t"))[2] as string;
      assert.equal(await subject.save(conversation(2), "t", { writeId: "attempt", expectedHead: head }), first);
      assert.equal((await historyOf(subject, "t")).length, 3);
    },
  },
  {
    name: "saves with different writeIds are different saves",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const state = conversation(1);
      await subject.save(state, "t", { writeId: "one" });
      await subject.save(state, "t", { writeId: "two" });
      assert.equal((await historyOf(subject, "t")).length, 2);
    },
  },
  {
    name: "the same writeId may be used in every thread",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      for (const threadId of ["t", "u"]) await subject.save(conversation(1, threadId), threadId, { writeId: "same" });
      for (const threadId of ["t", "u"]) {
        assert.equal((await loaded(subject, threadId)).messages[0]?.content, `${threadId} 1`);
      }
    },
  },
  {
    name: "a writeId that could not be an id is INVALID_ARGUMENT, and nothing is written",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      for (const { what, id } of REFUSED_IDS) {
        const save = () => subject.save(conversation(1), "t", { writeId: id as string });
        await failsWith("INVALID_ARGUMENT", save, `writeId: ${what}`);
      }
      await assertNoThread(subject, "t");
    },
  },
]);
