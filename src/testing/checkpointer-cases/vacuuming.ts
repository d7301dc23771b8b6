import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { failsWith } from "../expect-failure.ts";
import { passTime } from "../manual-clock.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf, detailed } from "./checkpointer-case.ts";
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

const DAY = 86_400_000;
/** Where the writer stops by itself: what waits for a quiet moment then ends, too late. */
const MOST_SAVES = 400;

/** Saves without a pause until told otherwise, and says how often. */
async function savingAllTheTime(
  subject: BaseCheckpointer,
  start: AgentState,
  isDone: { readonly value: boolean },
): Promise<number> {
  let [state, saves] = [start, 0];
  for (; !isDone.value && saves < MOST_SAVES; saves++) {
    state = state.withMetadata({ saves: saves + 1 });
    await subject.save(state, "t");
    await sleep(1);
  }
  return saves;
}

export const vacuumingCases: readonly CheckpointerCase[] = checkpointerCasesOf("vacuum", [
  {
    name: "a plan says, thread by thread, what the vacuum then takes, and changes nothing",
    needs: ["vacuum"],
    run: async ({ subject }) => {
      await growThread(subject, "long", 5);
      await growThread(subject, "short", 1);
      const plan: unknown[] = [];
      for await (const entry of subject.vacuumPlan({ keepLast: 2 })) plan.push({ ...entry });
      assert.deepEqual(plan, [{ threadId: "long", checkpoints: 3, isWhole: false }]);
      assert.equal((await historyOf(subject, "long")).length, 5, "a plan changes nothing");
      assert.equal((await subject.vacuum({ keepLast: 2 })).checkpoints, 3);
      for await (const entry of subject.vacuumPlan({ keepLast: 2 }))
        assert.fail(`nothing is left, but ${entry.threadId}`);
    },
  },
  {
    name: "keepLast leaves the newest checkpoints of every thread, all of them loadable",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 6);
      const { ids: few } = await growThread(subject, "few", 2);
      const report = await subject.vacuum({ keepLast: 3 });
      assert.deepEqual({ ...report }, { checkpoints: 3, threads: 0, dryRun: false, skipped: 0, warnings: [] });
      await assertHistory(subject, "t", [
        [ids[5], 6],
        [ids[4], 5],
        [ids[3], 4],
      ]);
      await assertHistory(subject, "few", [
        [few[1], 2],
        [few[0], 1],
      ]);
      assert.equal((await subject.vacuum({ keepLast: 3 })).checkpoints, 0, "nothing is left to do");
    },
  },
  {
    name: "a dry run counts and removes nothing",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 4);
      const report = await subject.vacuum({ keepLast: 1, dryRun: true });
      assert.deepEqual({ ...report }, { checkpoints: 3, threads: 0, dryRun: true, skipped: 0, warnings: [] });
      assert.deepEqual(await historyOf(subject, "t"), ids.toReversed());
    },
  },
  {
    name: "olderThanDays removes old checkpoints, and threads that are old as a whole",
    needs: ["vacuum", "history", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      await growThread(subject, "old", 2);
      const { state } = await growThread(subject, "t", 2);
      await passTime(fixture, 10 * DAY);
      const third = await subject.save(and(state, "message 3"), "t");
      const counted = await subject.vacuum({ olderThanDays: 5, dryRun: true });
      assert.deepEqual({ ...counted }, { checkpoints: 4, threads: 1, dryRun: true, skipped: 0, warnings: [] });
      assert.deepEqual({ ...(await subject.vacuum({ olderThanDays: 5 })) }, { ...counted, dryRun: false });
      await assertHistory(subject, "t", [[third, 3]]);
      await assertNoThread(subject, "old");
    },
  },
  {
    name: "olderThanDays together with keepLast keeps the newest, however old",
    needs: ["vacuum", "history", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { ids } = await growThread(subject, "t", 4);
      await passTime(fixture, 10 * DAY);
      await subject.vacuum({ olderThanDays: 5, keepLast: 2 });
      await assertHistory(subject, "t", [
        [ids[3], 4],
        [ids[2], 3],
      ]);
      assert.equal((await subject.vacuum({ olderThanDays: 50 })).checkpoints, 0);
    },
  },
  {
    name: "a clock that jumped tears no hole into the history",
    needs: ["vacuum", "history", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      let state = conversation(0);
      for (const days of [20, -30, 30, -25, 40]) {
        await passTime(fixture, days * DAY);
        state = and(state, `message ${state.messages.length + 1}`);
        await subject.save(state, "t");
      }
      const before = await historyOf(subject, "t");
      await subject.vacuum({ olderThanDays: 15 });
      const after = await historyOf(subject, "t");
      assert.ok(after.length > 0, "something is left");
      assert.deepEqual(after, before.slice(0, after.length), "what is left is the newest part, without a gap");
      for (const checkpointId of after) await loaded(subject, "t", { checkpointId });
    },
  },
  {
    name: "a vacuum does not disturb a writer: a state loaded before it can still be saved",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5);
      const held = await loaded(subject, "t");
      await subject.vacuum({ keepLast: 1 });
      const sixth = await subject.save(and(held, "message 6"), "t");
      await assertHistory(subject, "t", [
        [sixth, 6],
        [ids[4], 5],
      ]);
      await subject.vacuum({ keepLast: 1 });
      await assertHistory(subject, "t", [[sixth, 6]]);
    },
  },
  {
    name: "a vacuum and a deletion end beside a writer that never stops",
    needs: ["vacuum", "history", "conditionalSave"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 30);
      const isDone = { value: false };
      const writer = savingAllTheTime(subject, state, isDone);
      try {
        assert.equal(await subject.delete("t", { checkpointId: ids[3] as string }), true);
        const report = await subject.vacuum({ keepLast: 10 });
        assert.equal(report.skipped, 0, "nothing was left for later");
        assert.ok(report.checkpoints >= 19, `${report.checkpoints} checkpoints were removed`);
        assert.equal((await subject.vacuum({ keepLast: 1 })).skipped, 0, "not even of all but the newest");
      } finally {
        isDone.value = true;
      }
      const saves = await writer;
      assert.ok(saves < MOST_SAVES, "they ended before the writer did");
      const left = await historyOf(subject, "t");
      assert.ok(left.length >= 1 && left.length <= 1 + saves, `${left.length} checkpoints are left`);
      assert.equal((await loaded(subject, "t")).metadata["saves"], saves, "the writer lost nothing");
    },
  },
  {
    name: "a rewritten history survives a vacuum",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 4);
      const rewritten = state.withHistory(conversation(2, "anew").messages);
      await subject.save(rewritten, "t");
      await subject.save(and(rewritten, "anew 3"), "t");
      for (const keepLast of [3, 2, 1]) {
        await subject.vacuum({ keepLast });
        assert.equal((await historyOf(subject, "t")).length, keepLast);
        assertSame(textsOf(await loaded(subject, "t")), textsOf(conversation(3, "anew")), `keepLast ${keepLast}`);
      }
    },
  },
  {
    name: "messages of what is kept are found after a vacuum, and what is gone is not",
    needs: ["vacuum", "search", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 4);
      await subject.save(state.withHistory([...conversation(1, "summary").messages, ...state.messages.slice(-1)]), "t");
      await subject.vacuum({ keepLast: 1 });
      assert.equal((await subject.search("message 4")).length, 1, "kept");
      assert.equal((await subject.search("summary")).length, 1, "new");
      assert.equal((await subject.search("message 2")).length, 0, "gone");
    },
  },
  {
    name: "a vacuum gives space back",
    needs: ["vacuum", "history", "details"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 30);
      await subject.save(state.withHistory(state.messages.slice(-1)), "t");
      const before = (await detailed(subject).stats("t"))?.bytes ?? 0;
      await subject.vacuum({ keepLast: 1 });
      const after = await detailed(subject).stats("t");
      assert.equal(after?.checkpoints, 1);
      assert.ok(after.bytes < before / 3, `${after.bytes} bytes are left of ${before}`);
    },
  },
  {
    name: "a vacuum reaches every thread",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      for (let index = 0; index < 120; index++) await growThread(subject, `thread ${index}`, 2);
      const report = { ...(await subject.vacuum({ keepLast: 1 })) };
      assert.deepEqual(report, { checkpoints: 120, threads: 0, dryRun: false, skipped: 0, warnings: [] });
    },
  },
  {
    name: "a vacuum that is not told what may go is INVALID_ARGUMENT",
    needs: ["vacuum", "history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      const wrong = [
        {},
        { keepLast: 0 },
        { keepLast: -1 },
        { keepLast: 1.5 },
        { keepLast: "1" },
        { keepLast: Number.NaN },
        { olderThanDays: -1 },
        { olderThanDays: Number.NaN },
        { olderThanDays: "x" },
        { olderThanDays: null },
      ];
      for (const options of wrong) {
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.vacuum(options as object),
          `vacuum(${JSON.stringify(options)})`,
        );
      }
      assert.equal((await historyOf(subject, "t")).length, 2);
    },
  },
]);
