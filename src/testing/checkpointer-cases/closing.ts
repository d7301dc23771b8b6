import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, growThread, loaded } from "./conversations.ts";
import { callsWithoutId, callsWithThreadId } from "./every-method.ts";

export const closingCases: readonly CheckpointerCase[] = checkpointerCasesOf("closing and failing", [
  {
    name: "after close every call is CLOSED",
    needs: ["details"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      await subject.close();
      for (const [method, call] of Object.entries({ ...callsWithThreadId(subject), ...callsWithoutId(subject) })) {
        await failsWith("CLOSED", () => call("t"), `${method} after close`);
      }
    },
  },
  {
    name: "closing twice is harmless, and so is disposing",
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      await subject[Symbol.asyncDispose]();
      await subject.close();
      await subject[Symbol.asyncDispose]();
    },
  },
  {
    name: "disposing closes",
    needs: ["details"],
    run: async ({ subject }) => {
      await subject[Symbol.asyncDispose]();
      await failsWith("CLOSED", () => subject.load("t"), "load after disposal");
    },
  },
  {
    name: "while the storage fails every call fails with a StateError, and none answers that nothing is there",
    needs: ["outage"],
    run: async ({ subject, outage }) => {
      const { state } = await growThread(subject, "t", 2);
      const next = and(state, "message 3");
      const restore = await outage?.();
      try {
        // All at once: each may go on trying for some seconds.
        const calls = Object.entries({ ...callsWithThreadId(subject), ...callsWithoutId(subject) });
        const failing = calls.map(async ([method, call]) => {
          const error = await failureOf(() => call("u"), `${method} in an outage`);
          assert.ok(StateError.is(error), `${method}: expected a StateError, got ${error}`);
          assert.ok(!["NOT_FOUND", "CONFLICT", "INVALID_ARGUMENT"].includes(error.code), `${method}: ${error.code}`);
        });
        await Promise.all([...failing, failureOf(() => subject.save(next, "t"), "a save in an outage")]);
      } finally {
        await restore?.();
      }
      assert.equal((await loaded(subject, "t")).messages.length, 2, "nothing was lost");
      await subject.save(next, "t");
      assert.equal((await loaded(subject, "t")).messages.length, 3, "and the same save works afterwards");
    },
  },
]);
