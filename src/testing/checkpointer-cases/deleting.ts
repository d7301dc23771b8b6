import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, assertNoThread, conversation, growThread, loaded } from "./conversations.ts";

export const deletingCases: readonly CheckpointerCase[] = checkpointerCasesOf("delete", [
  {
    name: "checkpoints before, after and under a name that moved are deleted without harm to the others",
    needs: ["history"],
    run: async ({ subject }) => {
      const names = ["first", "moving", "moving", "between", "moving", "moving", "last"];
      const { ids } = await growThread(subject, "t", names.length, (index) => ({
        checkpointId: names[index - 1] as string,
      }));
      assert.deepEqual(ids, names);
      await assertHistory(subject, "t", [
        ["last", 7],
        ["moving", 6],
        ["between", 4],
        ["first", 1],
      ]);
      assert.equal(await subject.delete("t", { checkpointId: "between" }), true);
      await assertHistory(subject, "t", [
        ["last", 7],
        ["moving", 6],
        ["first", 1],
      ]);
      assert.equal(await subject.delete("t", { checkpointId: "moving" }), true);
      assert.equal(await subject.delete("t", { checkpointId: "first" }), true);
      await assertHistory(subject, "t", [["last", 7]]);
    },
  },
  {
    name: "a deleted thread is gone from every answer",
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 4);
      assert.equal(await subject.delete("t"), true);
      await assertNoThread(subject, "t");
      for (const checkpointId of ids) assert.equal(await subject.load("t", { checkpointId }), undefined);
    },
  },
  {
    name: "a deletion that expects a head leaves a thread alone that has moved on",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      const [expectedHead = "", newest = ""] = ids.slice(-2);
      await failsWith("CONFLICT", () => subject.delete("t", { expectedHead }), "a deletion of an older head");
      assert.equal((await loaded(subject, "t")).messages.length, 3);
      assert.equal(await subject.delete("t", { expectedHead: newest }), true);
      await assertNoThread(subject, "t");
      assert.equal(await subject.delete("t", { expectedHead: newest }), false);
    },
  },
  {
    name: "deleting what is not there says so",
    run: async ({ subject }) => {
      assert.equal(await subject.delete("absent"), false);
      assert.equal(await subject.delete("absent", { checkpointId: "absent" }), false);
      await subject.save(conversation(1), "t");
      assert.equal(await subject.delete("t", { checkpointId: "absent" }), false);
      assert.equal((await loaded(subject, "t")).messages.length, 1);
      assert.equal(await subject.delete("t"), true);
      assert.equal(await subject.delete("t"), false);
    },
  },
  {
    name: "deleting one thread leaves the others",
    run: async ({ subject }) => {
      const others = ["org/alice", "org:alice", "orga", "Org", "or"];
      for (const threadId of ["org", ...others]) await growThread(subject, threadId, 2);
      await subject.delete("org");
      for (const threadId of others) assert.equal((await loaded(subject, threadId)).messages.length, 2, threadId);
    },
  },
  {
    name: "deleting one from the middle leaves the others as they were",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5);
      assert.equal(await subject.delete("t", { checkpointId: ids[2] as string }), true);
      assert.equal(await subject.load("t", { checkpointId: ids[2] as string }), undefined);
      assert.equal(await subject.exists("t", { checkpointId: ids[2] as string }), false);
      await assertHistory(subject, "t", [
        [ids[4], 5],
        [ids[3], 4],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "deleting the newest makes the one before it the newest",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 4);
      assert.equal(await subject.delete("t", { checkpointId: ids[3] as string }), true);
      await assertHistory(subject, "t", [
        [ids[2], 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
      assert.equal(await subject.delete("t", { checkpointId: ids[2] as string }), true);
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a thread continues after its newest checkpoint was deleted",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      await subject.delete("t", { checkpointId: ids[2] as string });
      const again = await subject.save(and(await loaded(subject, "t"), "message 3"), "t");
      await assertHistory(subject, "t", [
        [again, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "deleting the oldest leaves the others as they were",
    needs: ["history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 4);
      assert.equal(await subject.delete("t", { checkpointId: ids[0] as string }), true);
      await assertHistory(subject, "t", [
        [ids[3], 4],
        [ids[2], 3],
        [ids[1], 2],
      ]);
      const fifth = await subject.save(and(state, "message 5"), "t");
      await assertHistory(subject, "t", [
        [fifth, 5],
        [ids[3], 4],
        [ids[2], 3],
        [ids[1], 2],
      ]);
    },
  },
  ...(["oldest first", "newest first", "inside out"] as const).map((order) => ({
    name: `a thread whose checkpoints are deleted one by one, ${order}, is gone with the last`,
    needs: ["history" as const],
    run: async ({ subject }: Parameters<CheckpointerCase["run"]>[0]) => {
      const { ids } = await growThread(subject, "t", 6);
      const left = ids.map((id, index) => [id, index + 1] as const).toReversed();
      while (left.length > 0) {
        const at = { "oldest first": left.length - 1, "newest first": 0, "inside out": Math.floor(left.length / 2) }[
          order
        ];
        const [[checkpointId]] = left.splice(at, 1) as [readonly [string, number]];
        assert.equal(await subject.delete("t", { checkpointId }), true);
        if (left.length > 0) await assertHistory(subject, "t", left);
      }
      await assertNoThread(subject, "t");
      assert.equal(await subject.delete("t"), false, "nothing is left to delete");
    },
  })),
  {
    name: "a deleted name can be used again",
    needs: ["history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 2, (index) => ({ checkpointId: `c${index}` }));
      await subject.delete("t", { checkpointId: "c1" });
      await subject.save(and(state, "message 3"), "t", { checkpointId: "c1" });
      await assertHistory(subject, "t", [
        ["c1", 3],
        ["c2", 2],
      ]);
    },
  },
  {
    name: "checkpoints of a rewritten history can be deleted in any order",
    needs: ["history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 3);
      const rewritten = state.withHistory(conversation(1, "rewritten").messages);
      const third = await subject.save(rewritten, "t");
      const fourth = await subject.save(and(rewritten, "after it"), "t");
      await subject.delete("t", { checkpointId: third });
      await subject.delete("t", { checkpointId: ids[1] as string });
      assert.deepEqual((await loaded(subject, "t")).messages.length, 2);
      assert.deepEqual((await loaded(subject, "t", { checkpointId: fourth })).messages.length, 2);
      assert.deepEqual((await loaded(subject, "t", { checkpointId: ids[2] as string })).messages.length, 3);
      assert.deepEqual((await loaded(subject, "t", { checkpointId: ids[0] as string })).messages.length, 1);
    },
  },
]);
