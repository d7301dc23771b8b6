import assert from "node:assert/strict";
import { uncheckedHead } from "../../checkpoint/base-checkpointer.ts";
import { failsWith } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import {
  and,
  assertHistory,
  assertNoThread,
  conversation,
  growThread,
  historyOf,
  loaded,
  textsOf,
} from "./conversations.ts";

export const conflictCases: readonly CheckpointerCase[] = checkpointerCasesOf("conflicts", [
  {
    name: "of two states made from one checkpoint the second is refused, and nothing of it is written",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      const [mine, theirs] = [await loaded(subject, "t"), await loaded(subject, "t")];
      const third = await subject.save(and(theirs, "message 3"), "t");
      const error = await failsWith("CONFLICT", () => subject.save(and(mine, "lost"), "t"), "the second save");
      assert.equal(error.retryable, false);
      assert.equal(error.context.expected, ids[1], "the conflict names what was expected");
      assert.equal(error.context.actual, third, "and what is there");
      await assertHistory(subject, "t", [
        [third, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
      await failsWith("CONFLICT", () => subject.save(and(mine, "lost"), "t"), "trying again changes nothing");
    },
  },
  {
    name: "two states made from one that was just saved are rivals too",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const state = conversation(1);
      await subject.save(state, "t");
      await subject.save(and(state, "message 2"), "t");
      await failsWith("CONFLICT", () => subject.save(and(state, "lost"), "t"), "the second child");
      assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(2)), "messages");
    },
  },
  {
    name: "after a conflict the thread can be loaded and the change made again",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const state = conversation(1);
      await subject.save(state, "t");
      await subject.save(and(state, "message 2"), "t");
      await failsWith("CONFLICT", () => subject.save(and(state, "message 3"), "t"), "the late save");
      await subject.save(and(await loaded(subject, "t"), "message 3"), "t");
      assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(3)), "messages");
    },
  },
  {
    name: "a new state is refused on a thread that exists",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      const error = await failsWith("CONFLICT", () => subject.save(conversation(1), "t"), "a new state");
      assert.equal(error.context.expected, null);
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a state of an old checkpoint is refused, and the thread stays loadable",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      const old = await loaded(subject, "t", { checkpointId: ids[0] as string });
      await failsWith("CONFLICT", () => subject.save(and(old, "rewinds"), "t"), "a save of an old state");
      await failsWith("CONFLICT", () => subject.save(old, "t", { expectedHead: ids[0] as string }), "named or not");
      await assertHistory(subject, "t", [
        [ids[2], 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a state of an old checkpoint can be made the newest on purpose",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      const old = await loaded(subject, "t", { checkpointId: ids[0] as string });
      const back = await subject.save(old, "t", { expectedHead: ids[2] as string });
      await assertHistory(subject, "t", [
        [back, 1],
        [ids[2], 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
      const again = await subject.save(and(await loaded(subject, "t"), "message 2"), "t");
      await assertHistory(subject, "t", [
        [again, 2],
        [back, 1],
        [ids[2], 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "expectedHead names the checkpoint the save builds on",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      for (const wrong of [ids[0] as string, "absent", null]) {
        const save = () => subject.save(conversation(3), "t", { expectedHead: wrong });
        await failsWith("CONFLICT", save, `expectedHead ${wrong}`);
      }
      await failsWith("CONFLICT", () => subject.save(conversation(1), "u", { expectedHead: "absent" }), "no thread");
      await assertNoThread(subject, "u");
      const third = await subject.save(conversation(3), "t", { expectedHead: ids[1] as string });
      await assertHistory(subject, "t", [
        [third, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "expectedHead null makes a thread and refuses one that exists",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const state = conversation(1);
      await subject.save(state, "t", { expectedHead: null });
      await failsWith(
        "CONFLICT",
        () => subject.save(and(state, "lost"), "t", { expectedHead: null }),
        "a second creation",
      );
      assert.equal((await loaded(subject, "t")).messages.length, 1);
    },
  },
  {
    name: "uncheckedHead saves on top of any head",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const first = await subject.save(conversation(1), "t", { expectedHead: uncheckedHead });
      const second = await subject.save(conversation(2), "t", { expectedHead: uncheckedHead });
      await subject.delete("t", { checkpointId: first });
      const third = await subject.save(conversation(3), "t", { expectedHead: uncheckedHead });
      await assertHistory(subject, "t", [
        [third, 3],
        [second, 2],
      ]);
    },
  },
  {
    name: "a conflict of a named save leaves the name where it was",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 2, (index) => ({ checkpointId: `c${index}` }));
      await subject.save(and(state, "message 3"), "t");
      const late = () => subject.save(and(state, "lost"), "t", { checkpointId: "c1" });
      await failsWith("CONFLICT", late, "a late save under a name");
      assert.equal((await loaded(subject, "t", { checkpointId: "c1" })).messages.length, 1);
      assert.equal((await historyOf(subject, "t")).length, ids.length + 1);
    },
  },
  {
    name: "deleting older checkpoints is no conflict for a writer",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 4);
      await subject.delete("t", { checkpointId: ids[1] as string });
      await subject.delete("t", { checkpointId: ids[0] as string });
      const fifth = await subject.save(and(state, "message 5"), "t");
      await assertHistory(subject, "t", [
        [fifth, 5],
        [ids[3], 4],
        [ids[2], 3],
      ]);
    },
  },
  {
    name: "deleting the checkpoint a writer builds on is a conflict for it",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 3);
      await subject.delete("t", { checkpointId: ids[2] as string });
      await failsWith("CONFLICT", () => subject.save(and(state, "message 4"), "t"), "a save on a deleted checkpoint");
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "deleted stays deleted: a late writer is refused and the thread stays absent",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 2);
      await subject.delete("t");
      const error = await failsWith(
        "CONFLICT",
        () => subject.save(and(state, "late"), "t"),
        "a save after the deletion",
      );
      assert.equal(error.context.actual, null);
      await assertNoThread(subject, "t");
    },
  },
  {
    name: "a thread that was deleted and made anew is not mixed with the old one",
    needs: ["conditionalSave", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 2);
      await subject.delete("t");
      const { ids } = await growThread(subject, "t", 2);
      await failsWith(
        "CONFLICT",
        () => subject.save(and(state, "of the old thread"), "t"),
        "a writer of the old thread",
      );
      await assertHistory(subject, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
]);
