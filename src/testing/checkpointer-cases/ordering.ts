import assert from "node:assert/strict";
import { passTime } from "../manual-clock.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, conversation, growThread } from "./conversations.ts";

const asHistory = (ids: readonly string[]): (readonly [string, number])[] =>
  ids.map((id, index) => [id, index + 1] as const).toReversed();

export const orderingCases: readonly CheckpointerCase[] = checkpointerCasesOf("order", [
  {
    name: "checkpoints saved in the same millisecond keep their order",
    needs: ["history", "clock"],
    run: async ({ subject }) => assertHistory(subject, "t", asHistory((await growThread(subject, "t", 20)).ids)),
  },
  {
    name: "a clock that goes back changes nothing about which is the newest",
    needs: ["history", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      const ids: string[] = [];
      let state = conversation(0);
      for (const ms of [0, -86_400_000, 5, -5, -1e9, 3e9, -1]) {
        await passTime(fixture, ms);
        state = and(state, `message ${ids.length + 1}`);
        ids.push(await subject.save(state, "t"));
      }
      await assertHistory(subject, "t", asHistory(ids));
      await subject.delete("t", { checkpointId: ids[6] as string });
      await assertHistory(subject, "t", asHistory(ids.slice(0, 6)));
    },
  },
  {
    name: "names that sort backwards change nothing about the order",
    needs: ["history"],
    run: async ({ subject }) => {
      const names = ["z", "m", "0000", "a", "9999", "10", "2", "Z"];
      const { ids } = await growThread(subject, "t", names.length, (index) => ({
        checkpointId: names[index - 1] as string,
      }));
      assert.deepEqual(ids, names);
      await assertHistory(subject, "t", asHistory(names));
    },
  },
]);
