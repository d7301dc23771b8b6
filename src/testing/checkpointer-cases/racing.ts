import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { StateError } from "../../errors.ts";
import { another } from "../conformance-case.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, growThread, historyOf, loaded } from "./conversations.ts";

/** Resolves for all when the last one has arrived. */
function meetingOf(count: number): () => Promise<void> {
  let [come, open] = [0, (): void => undefined];
  const everyone = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (++come === count) open();
    return everyone;
  };
}

/** Loads, adds a message and saves, until that succeeds; returns how often it had to start again. */
async function addMessage(checkpointer: BaseCheckpointer, text: string, meet?: () => Promise<void>): Promise<number> {
  for (let conflicts = 0; ; conflicts++) {
    const state = await checkpointer.load("t");
    if (conflicts === 0) await meet?.();
    try {
      await checkpointer.save(and(state ?? conversation(0), text), "t");
      return conflicts;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
}

async function writeTogether(writers: readonly BaseCheckpointer[], rounds: number): Promise<void> {
  // All of them have loaded before the first one saves: a fast storage could let each go through before the next begins.
  const meet = meetingOf(writers.length);
  const conflicts = await Promise.all(
    writers.map(async (checkpointer, writer) => {
      let count = await addMessage(checkpointer, `${writer}/0`, meet);
      for (let round = 1; round < rounds; round++) count += await addMessage(checkpointer, `${writer}/${round}`);
      return count;
    }),
  );
  const [first] = writers as [BaseCheckpointer];
  const texts = (await loaded(first, "t")).messages.map(({ content }) => content as string);
  const expected = writers.flatMap((_, writer) => Array.from({ length: rounds }, (__, round) => `${writer}/${round}`));
  assert.deepEqual(texts.toSorted(), expected.toSorted(), "every message once, none lost");
  for (const [writer] of writers.entries()) {
    const own = texts.filter((text) => text.startsWith(`${writer}/`));
    assert.deepEqual(
      own,
      Array.from({ length: rounds }, (_, round) => `${writer}/${round}`),
      "in its writer's order",
    );
  }
  assert.ok(
    conflicts.some((count) => count > 0),
    "the writers must really have met",
  );
}

export const racingCases: readonly CheckpointerCase[] = checkpointerCasesOf("races", [
  {
    name: "writers that load, change and save in one process lose nothing",
    needs: ["conditionalSave"],
    run: async ({ subject }) =>
      writeTogether(
        Array.from({ length: 6 }, () => subject),
        8,
      ),
  },
  {
    name: "writers on instances of their own lose nothing",
    needs: ["conditionalSave", "reopen"],
    run: async (fixture) => {
      const writers = [fixture.subject];
      for (let count = 1; count < 4; count++) writers.push(await another(fixture));
      await writeTogether(writers, 8);
    },
  },
  {
    name: "of many that create one thread exactly one does",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      const saves = Array.from({ length: 12 }, (_, index) => subject.save(conversation(index + 1), "t"));
      const outcomes = await Promise.allSettled(saves);
      const winners = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
      assert.equal(winners.length, 1);
      assert.equal((await loaded(subject, "t")).messages.length, (winners[0] ?? 0) + 1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") assert.ok(StateError.is(outcome.reason, "CONFLICT"), `${outcome.reason}`);
      }
    },
  },
  {
    name: "saves, deletions of old checkpoints and a vacuum at the same time leave a history that loads",
    needs: ["conditionalSave", "vacuum", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 12);
      const grow = async (): Promise<void> => {
        for (let round = 0; round < 10; round++) await addMessage(subject, `added ${round}`);
      };
      const shrink = async (): Promise<void> => {
        for (const checkpointId of ids.slice(0, 8)) await subject.delete("t", { checkpointId });
      };
      const vacuum = async (): Promise<void> => {
        for (let keepLast = 9; keepLast > 4; keepLast--) await subject.vacuum({ keepLast });
      };
      await Promise.all([grow(), shrink(), vacuum()]);
      assert.equal((await loaded(subject, "t")).messages.length, 22);
      for (const checkpointId of await historyOf(subject, "t")) await loaded(subject, "t", { checkpointId });
    },
  },
  {
    name: "a deletion that races saves leaves no thread, or one made after it",
    needs: ["conditionalSave"],
    run: async ({ subject }) => {
      for (let round = 0; round < 5; round++) {
        const { state } = await growThread(subject, "t", 2);
        await Promise.allSettled([subject.save(and(state, "late"), "t"), subject.delete("t")]);
        await assertNoThread(subject, "t");
      }
    },
  },
]);
