import assert from "node:assert/strict";
import { AgentState } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { failureOf } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
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
} from "./conversations.ts";

export const savingCases: readonly CheckpointerCase[] = checkpointerCasesOf("save and load", [
  {
    name: "a saved state loads as it was",
    run: async ({ subject }) => {
      const state = conversation(3);
      await subject.save(state, "t");
      assertSame((await loaded(subject, "t")).fields, state.fields, "state");
    },
  },
  {
    name: "a state with something in every field, and every kind of value, loads as it was",
    run: async ({ subject }) => {
      await subject.save(fullState(), "t");
      const state = await loaded(subject, "t");
      assertSame(state.fields, fullState().fields, "state");
      assert.deepEqual(state.toCheckpoint(), fullState().toCheckpoint());
    },
  },
  {
    name: "an empty state loads as it was, and is not an absent one",
    run: async ({ subject }) => {
      await subject.save(AgentState.create(), "t");
      assertSame((await loaded(subject, "t")).fields, AgentState.create().fields, "state");
      assert.equal(await subject.exists("t"), true);
    },
  },
  {
    name: "fields this version does not know are kept",
    run: async ({ subject }) => {
      const fields = { ...conversation(1).fields, fromTheFuture: { plan: [1, new Date(0)] }, "": null } as StateFields;
      await subject.save(AgentState.fromFields(fields), "t");
      assertSame((await loaded(subject, "t")).fields, fields, "state");
    },
  },
  {
    name: "an absent thread and an absent checkpoint load as undefined",
    run: async ({ subject }) => {
      await assertNoThread(subject, "absent");
      assert.equal(await subject.load("absent", { checkpointId: "c" }), undefined);
      await subject.save(conversation(1), "t");
      assert.equal(await subject.load("t", { checkpointId: "absent" }), undefined);
      assert.equal(await subject.exists("t", { checkpointId: "absent" }), false);
    },
  },
  {
    name: "a save returns the id under which the checkpoint loads",
    run: async ({ subject }) => {
      const id = await subject.save(conversation(2), "t");
      assert.ok(typeof id === "string" && id !== "", "an id is text");
      assert.equal((await loaded(subject, "t", { checkpointId: id })).messages.length, 2);
      assert.equal(await subject.exists("t", { checkpointId: id }), true);
    },
  },
  {
    name: "every save without a name gets an id of its own",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5);
      assert.equal(new Set(ids).size, 5);
      const unchanged = await loaded(subject, "t");
      assert.ok(!ids.includes(await subject.save(unchanged, "t")), "even of an unchanged state");
    },
  },
  {
    name: "a given checkpoint id is kept",
    run: async ({ subject }) => {
      assert.equal(await subject.save(conversation(1), "t", { checkpointId: "mine" }), "mine");
      assert.equal((await loaded(subject, "t", { checkpointId: "mine" })).messages.length, 1);
    },
  },
  {
    name: "the newest checkpoint loads by default, and every other one by its id",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 6);
      await assertHistory(subject, "t", ids.map((id, index) => [id, index + 1] as const).toReversed());
    },
  },
  {
    name: "saving under a name again moves the name to the new state",
    needs: ["history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 4, (index) =>
        index === 2 ? { checkpointId: "mine" } : {},
      );
      await subject.save(and(state, "message 5"), "t", { checkpointId: "mine" });
      await assertHistory(subject, "t", [
        ["mine", 5],
        [ids[3], 4],
        [ids[2], 3],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a name can be moved again and again, from the oldest and from the newest",
    needs: ["history"],
    run: async ({ subject }) => {
      let state = conversation(1);
      await subject.save(state, "t", { checkpointId: "mine" });
      for (let index = 2; index <= 4; index++) {
        state = and(state, `message ${index}`);
        await subject.save(state, "t", { checkpointId: "mine" });
      }
      await assertHistory(subject, "t", [["mine", 4]]);
      state = and(state, "message 5");
      const fifth = await subject.save(state, "t");
      await subject.save(and(state, "message 6"), "t", { checkpointId: "mine" });
      await assertHistory(subject, "t", [
        ["mine", 6],
        [fifth, 5],
      ]);
    },
  },
  {
    name: "a thread continues from the state that was loaded",
    run: async ({ subject }) => {
      await subject.save(conversation(2), "t");
      for (let index = 3; index <= 6; index++)
        await subject.save(and(await loaded(subject, "t"), `message ${index}`), "t");
      assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(6)), "messages");
    },
  },
  {
    name: "a state made before its parent was saved still follows it",
    run: async ({ subject }) => {
      const first = conversation(1);
      const second = and(first, "message 2");
      await subject.save(first, "t");
      await subject.save(second, "t");
      assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(2)), "messages");
    },
  },
  {
    name: "threads do not affect each other",
    run: async ({ subject }) => {
      await subject.save(conversation(1, "of t"), "t");
      await subject.save(conversation(2, "of u"), "u");
      await subject.save(and(await loaded(subject, "t"), "of t 2"), "t");
      assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(2, "of t")), "thread t");
      assertSame(textsOf(await loaded(subject, "u")), textsOf(conversation(2, "of u")), "thread u");
    },
  },
  {
    name: "one state can be saved to several threads, which then go their own ways",
    run: async ({ subject }) => {
      const state = conversation(1);
      for (const threadId of ["t", "u", "v"]) await subject.save(state, threadId);
      for (const threadId of ["t", "u", "v"]) await subject.save(and(state, `only ${threadId}`), threadId);
      for (const threadId of ["t", "u", "v"]) {
        assertSame(textsOf(await loaded(subject, threadId)), ["message 1", `only ${threadId}`], threadId);
      }
    },
  },
  {
    name: "what is not an AgentState is a TypeError, and nothing is written",
    run: async ({ subject }) => {
      const { fields } = conversation(1);
      for (const wrong of [undefined, null, {}, "t", fields, conversation(1).toCheckpoint()]) {
        const error = await failureOf(() => subject.save(wrong as unknown as AgentState, "t"), "save of a wrong type");
        assert.ok(error instanceof TypeError, `expected a TypeError, got ${error}`);
      }
      await assertNoThread(subject, "t");
      assert.deepEqual(await historyOf(subject, "t"), []);
    },
  },
]);
