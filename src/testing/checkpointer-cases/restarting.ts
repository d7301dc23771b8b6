import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, assertNoThread, conversation, fullState, growThread, loaded } from "./conversations.ts";

async function restarted(fixture: Fixture<BaseCheckpointer>): Promise<BaseCheckpointer> {
  await fixture.subject.close();
  return another(fixture);
}

export const restartingCases: readonly CheckpointerCase[] = checkpointerCasesOf("restarts and second instances", [
  {
    name: "a state with something in every field is there after a restart",
    needs: ["persistentCheckpointIds", "reopen"],
    run: async (fixture) => {
      const checkpointId = await fixture.subject.save(fullState(), "t");
      const after = await restarted(fixture);
      assertSame((await loaded(after, "t")).fields, fullState().fields, "state");
      assertSame((await loaded(after, "t", { checkpointId })).fields, fullState().fields, "state by its id");
    },
  },
  {
    name: "a history survives a restart, and continues",
    needs: ["persistentCheckpointIds", "reopen", "history"],
    run: async (fixture) => {
      const { ids } = await growThread(fixture.subject, "t", 5);
      const after = await restarted(fixture);
      const sixth = await after.save(and(await loaded(after, "t"), "message 6"), "t");
      const older = ids.map((id, index) => [id, index + 1] as const).toReversed();
      await assertHistory(after, "t", [[sixth, 6], ...older]);
    },
  },
  {
    name: "a deletion is there after a restart",
    needs: ["persistentCheckpointIds", "reopen", "history"],
    run: async (fixture) => {
      const { ids } = await growThread(fixture.subject, "t", 3);
      await fixture.subject.delete("t", { checkpointId: ids[2] as string });
      await growThread(fixture.subject, "gone", 2);
      await fixture.subject.delete("gone");
      const after = await restarted(fixture);
      await assertHistory(after, "t", [
        [ids[1], 2],
        [ids[0], 1],
      ]);
      await assertNoThread(after, "gone");
    },
  },
  {
    name: "what one instance saved another loads at once",
    needs: ["reopen"],
    run: async (fixture) => {
      const other = await another(fixture);
      await assertNoThread(other, "t");
      await fixture.subject.save(conversation(2), "t");
      await other.save(and(await loaded(other, "t"), "message 3"), "t");
      assert.equal((await loaded(fixture.subject, "t")).messages.length, 3);
    },
  },
  {
    name: "a state that one instance loaded or saved is saved by another as what it is: the thread's next state",
    needs: ["reopen", "conditionalSave"],
    run: async (fixture) => {
      const other = await another(fixture);
      const state = conversation(2);
      await fixture.subject.save(state, "t");
      const third = and(state, "message 3");
      await other.save(third, "t");
      await fixture.subject.save(and(third, "message 4"), "t");
      await other.save(and(await loaded(fixture.subject, "t"), "message 5"), "t");
      assert.equal((await loaded(other, "t")).messages.length, 5);
    },
  },
  {
    name: "a state of another instance that the thread has left behind is refused",
    needs: ["reopen", "conditionalSave"],
    run: async (fixture) => {
      const other = await another(fixture);
      const state = conversation(2);
      await fixture.subject.save(state, "t");
      await fixture.subject.save(and(state, "message 3"), "t");
      await failsWith("CONFLICT", () => other.save(and(state, "lost"), "t"), "a late save through the other instance");
      assert.equal((await loaded(other, "t")).messages.length, 3);
    },
  },
  {
    name: "a state of a thread that was deleted and made anew is refused by every instance",
    needs: ["reopen", "conditionalSave"],
    run: async (fixture) => {
      const other = await another(fixture);
      const state = conversation(2);
      await fixture.subject.save(state, "t");
      await fixture.subject.delete("t");
      await fixture.subject.save(conversation(1), "t");
      for (const subject of [other, fixture.subject]) {
        await failsWith("CONFLICT", () => subject.save(and(state, "late"), "t"), "a save of the thread that was");
      }
      assert.equal((await loaded(other, "t")).messages.length, 1);
    },
  },
]);
