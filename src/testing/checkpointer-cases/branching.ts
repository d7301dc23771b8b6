import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf, detailed } from "./checkpointer-case.ts";
import {
  and,
  assertHistory,
  assertNoThread,
  conversation,
  fullState,
  growThread,
  historyOf,
  loaded,
  textsOf,
  withOpenCall,
} from "./conversations.ts";

export const branchingCases: readonly CheckpointerCase[] = checkpointerCasesOf("branching", [
  {
    name: "a fork starts with the newest state of its source, as one checkpoint",
    needs: ["branching"],
    run: async ({ subject }) => {
      await subject.save(fullState(), "t");
      await growThread(subject, "other", 2);
      const forked = await subject.fork("t", "u");
      assertSame((await loaded(subject, "u")).fields, fullState().fields, "state");
      assert.deepEqual(await historyOf(subject, "u"), [forked]);
    },
  },
  {
    name: "a fork can start at an old checkpoint",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5);
      const forked = await subject.fork("t", "u", { at: ids[1] as string });
      await assertHistory(subject, "u", [[forked, 2]]);
      await assertHistory(subject, "t", ids.map((id, index) => [id, index + 1] as const).toReversed());
    },
  },
  {
    name: "a fork and its source go on without each other",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 3);
      await subject.fork("t", "u");
      await subject.save(and(await loaded(subject, "u"), "of the fork"), "u");
      await subject.save(and(state, "of the source"), "t");
      const shared = textsOf(conversation(3));
      assertSame(textsOf(await loaded(subject, "u")), [...shared, "of the fork"], "the fork");
      assertSame(textsOf(await loaded(subject, "t")), [...shared, "of the source"], "the source");
      assert.equal((await loaded(subject, "t", { checkpointId: ids[0] as string })).messages.length, 1);
    },
  },
  {
    name: "a fork outlives its source",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 4);
      await subject.fork("t", "u", { at: ids[2] as string });
      await subject.fork("u", "v");
      await subject.delete("t");
      await subject.delete("u");
      assertSame(textsOf(await loaded(subject, "v")), textsOf(conversation(3)), "the fork of the fork");
      await subject.save(and(await loaded(subject, "v"), "message 4"), "v");
      assert.equal((await loaded(subject, "v")).messages.length, 4);
    },
  },
  {
    name: "a fork costs one record, however long the history of its source",
    needs: ["branching", "history", "details"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 40);
      await subject.fork("t", "u");
      const [source, fork] = [await detailed(subject).stats("t"), await detailed(subject).stats("u")];
      assert.equal(fork?.checkpoints, 1);
      assert.equal(fork.loadRecords, 1);
      assert.ok(fork.bytes <= (source?.loadBytes ?? 0), "no more than the state itself");
    },
  },
  {
    name: "a call that is open is run by its own thread alone: a fork and a copy settle it, with another key",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      await subject.save(withOpenCall(), "t");
      await subject.fork("t", "u");
      await subject.copyThread("t", "v");
      for (const threadId of ["u", "v"]) {
        const { toolExecutions, messages } = await loaded(subject, threadId);
        const [execution] = toolExecutions;
        assert.equal(execution?.status, "failed", threadId);
        assert.notEqual(execution.idempotencyKey, "the key", threadId);
        assert.equal(messages.at(-1)?.role, "tool", threadId);
      }
      assertSame((await loaded(subject, "t")).fields, withOpenCall().fields, "the source");
    },
  },
  {
    name: "the lineage of a fork names its source and where it left it, nearest first",
    needs: ["branching", "history", "details"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      const first = await subject.fork("t", "u", { at: ids[1] as string });
      await subject.fork("u", "v");
      await subject.save(and(await loaded(subject, "v"), "goes on"), "v");
      const lineage = [
        { threadId: "u", checkpointId: first },
        { threadId: "t", checkpointId: ids[1] },
      ];
      assert.deepEqual(await detailed(subject).lineage("v"), lineage);
      assert.deepEqual(await detailed(subject).lineage("t"), []);
      await subject.delete("t");
      assert.deepEqual((await detailed(subject).lineage("v"))[0], lineage[0], "as far as the threads exist");
    },
  },
  {
    name: "forking from nowhere is NOT_FOUND, onto a thread that exists is CONFLICT, and changes nothing",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      const { ids: others } = await growThread(subject, "u", 1);
      await failsWith("NOT_FOUND", () => subject.fork("absent", "v"), "fork of an absent thread");
      await failsWith("NOT_FOUND", () => subject.fork("t", "v", { at: "absent" }), "fork at an absent checkpoint");
      await assertNoThread(subject, "v");
      await failsWith("CONFLICT", () => subject.fork("t", "u"), "fork onto a thread that exists");
      await failsWith("CONFLICT", () => subject.fork("t", "t"), "fork onto itself");
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
      await assertHistory(subject, "u", [[others[0], 1]]);
    },
  },
  {
    name: "a copy has the same checkpoints in the same order, and the same newest one",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5, (index) => ({ metadata: { index } }));
      assert.equal(await subject.copyThread("t", "u"), true);
      const expected = ids.map((id, index) => [id, index + 1] as const).toReversed();
      await assertHistory(subject, "u", expected);
      await assertHistory(subject, "t", expected);
    },
  },
  {
    name: "the newest of a copy is its source's newest after that was deleted",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      await subject.delete("t", { checkpointId: ids[2] as string });
      await subject.copyThread("t", "u");
      await assertHistory(subject, "u", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a copy and its source go on without each other, and one outlives the other",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 2);
      await subject.copyThread("t", "u");
      const third = await subject.save(and(await loaded(subject, "u"), "message 3"), "u");
      await subject.save(and(state, "of the source"), "t");
      await subject.delete("t");
      await assertHistory(subject, "u", [
        [third, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
      await subject.delete("u", { checkpointId: ids[0] as string });
      await assertHistory(subject, "u", [
        [third, 3],
        [ids[1], 2],
      ]);
    },
  },
  {
    name: "copying nothing says so, and a target that exists is a CONFLICT",
    needs: ["branching", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      const { ids: others } = await growThread(subject, "u", 1);
      assert.equal(await subject.copyThread("absent", "v"), false);
      await assertNoThread(subject, "v");
      await failsWith("CONFLICT", () => subject.copyThread("t", "u"), "copy onto a thread that exists");
      await failsWith("CONFLICT", () => subject.copyThread("t", "t"), "copy onto itself");
      await assertHistory(subject, "u", [[others[0], 1]]);
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a state that was loaded from the source is refused by the copy",
    needs: ["branching", "conditionalSave"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 2);
      await subject.copyThread("t", "u");
      await failsWith("CONFLICT", () => subject.save(and(state, "message 3"), "u"), "a save to the copy");
      assert.equal((await loaded(subject, "u")).messages.length, 2);
    },
  },
]);
