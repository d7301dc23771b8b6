import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { StateError } from "../../errors.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, growThread, historyOf } from "./conversations.ts";

/** A call as JavaScript can make it: any arguments, in any place. */
async function invoke(subject: BaseCheckpointer, method: string, ...parameters: unknown[]): Promise<unknown> {
  const methods = subject as unknown as Readonly<Record<string, (...parameters: unknown[]) => unknown>>;
  return methods[method]?.call(subject, ...parameters);
}

/** Every call that takes options here, with something else in their place. */
function callsWith(subject: BaseCheckpointer, options: unknown): Readonly<Record<string, () => unknown>> {
  const { search, metadataQuery, listThreads, listWithMetadata, vacuum, branching, lease, watch } =
    subject.capabilities;
  const call = (name: string, ...parameters: unknown[]) => ({
    [name]: () => invoke(subject, name, ...parameters, options),
  });
  return {
    ...call("save", conversation(1), "new"),
    ...call("load", "t"),
    ...call("exists", "t"),
    ...call("delete", "t"),
    ...call("listCheckpoints", "t"),
    ...(search && call("search", "message")),
    ...(metadataQuery && call("queryByMetadata", "a", 1)),
    ...(listThreads && call("listThreads")),
    ...(listWithMetadata && { ...call("listWithMetadata"), ...call("getMetadata", "t") }),
    ...(vacuum && call("vacuum")),
    ...(branching && call("fork", "t", "u")),
    ...(lease && call("withLease", "t", async () => undefined)),
    ...(watch && call("watch", "t")),
  };
}

/** What may stand for one option by itself. */
const SHORT_FORMS: Readonly<Record<string, readonly string[]>> = {
  string: ["save", "load", "exists", "delete", "getMetadata", "fork"],
  number: ["listCheckpoints"],
};

export const optionCases: readonly CheckpointerCase[] = checkpointerCasesOf("options", [
  {
    name: "a checkpoint id in the place of options is that checkpoint or refused, and never the whole thread",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      const [first = ""] = ids;
      const takenOrRefused = async (method: string, isRight: (answer: unknown) => boolean): Promise<boolean> => {
        try {
          const answer = await invoke(subject, method, "t", first);
          assert.ok(isRight(answer), `${method}("t", ${JSON.stringify(first)}) answered something else`);
          return true;
        } catch (error) {
          if (!StateError.is(error, "INVALID_ARGUMENT")) throw error;
          return false;
        }
      };
      await takenOrRefused("load", (state) => (state as ReturnType<typeof conversation>)?.messages?.length === 1);
      await takenOrRefused("exists", (answer) => answer === true);
      const isDeleted = await takenOrRefused("delete", (answer) => answer === true);
      assert.deepEqual(await historyOf(subject, "t"), ids.slice(isDeleted ? 1 : 0).toReversed());
    },
  },
  {
    name: "the short forms are taken: a checkpoint id, its metadata, a number of checkpoints",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      const state = conversation(1);
      assert.equal(await invoke(subject, "save", state, "t", "first", { tag: "x" }), "first");
      await subject.save(and(state, "message 2"), "t");
      assert.deepEqual(await invoke(subject, "getMetadata", "t", "first"), { tag: "x" });
      assert.equal(((await invoke(subject, "load", "t", "first")) as typeof state).messages.length, 1);
      assert.equal(await invoke(subject, "exists", "t", "first"), true);
      assert.equal(await invoke(subject, "exists", "t", "absent"), false);
      assert.equal(((await invoke(subject, "listCheckpoints", "t", 1)) as unknown[]).length, 1);
      assert.equal(await invoke(subject, "delete", "t", "absent"), false);
      assert.equal(await invoke(subject, "delete", "t", "first"), true);
      assert.equal((await historyOf(subject, "t")).length, 1);
    },
  },
  {
    name: "anything else in the place of options is INVALID_ARGUMENT, and nothing is done",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      const wrong = [null, 5, "text", true, [], ["a"], new Date(0), new Map(), () => undefined, Symbol("s")];
      for (const options of wrong) {
        for (const [method, call] of Object.entries(callsWith(subject, options))) {
          if (SHORT_FORMS[typeof options]?.includes(method)) continue;
          const error = await failsWith("INVALID_ARGUMENT", call, `${method} with ${String(options)}`);
          assert.match(error.message, /options as an object|metadata/, error.message);
        }
      }
      assert.deepEqual(await historyOf(subject, "t"), ids.toReversed());
      assert.equal(await subject.exists("new"), false);
    },
  },
  {
    name: "an option that does not exist is INVALID_ARGUMENT, and the message names it and the one that was meant",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      for (const [method, call] of Object.entries(callsWith(subject, { colour: "green" }))) {
        const error = await failsWith("INVALID_ARGUMENT", call, method);
        assert.ok(error.message.includes(`${method}() has no option "colour"`), error.message);
      }
      const meant: readonly (readonly [method: string, given: object, name: string])[] = [
        ["load", { checkpoint_id: ids[0] }, "checkpointId"],
        ["delete", { checkpoint: ids[0] }, "checkpointId"],
        ["save", { metaData: {} }, "metadata"],
        ["listCheckpoints", { limt: 5 }, "limit"],
        ["vacuum", { older_than_days: 3 }, "olderThanDays"],
        ["vacuum", { keep_last: 1 }, "keepLast"],
      ];
      for (const [method, given, name] of meant) {
        const call = callsWith(subject, given)[method];
        if (call === undefined) continue;
        const error = await failureOf(call, method);
        assert.ok(error instanceof Error && error.message.includes(`did you mean "${name}"?`), String(error));
      }
      assert.deepEqual(await historyOf(subject, "t"), ids.toReversed(), "nothing was deleted");
    },
  },
]);
