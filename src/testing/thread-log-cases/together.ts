import assert from "node:assert/strict";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import {
  assertEntries,
  assertEntry,
  assertRecords,
  assertThread,
  grow,
  placeAt,
  recordAt,
  requestFor,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** Enough that a driver sends them together, if it does that at all. Every fourth one is not there. */
const THREADS = Array.from({ length: 12 }, (_, index) => `thread ${index}`);
const isThere = (index: number): boolean => index % 4 !== 3;
/** Each thread has a length of its own, so that an answer meant for another one shows. */
const lengthOf = (index: number): number => 2 + (index % 3);

async function fill(log: ThreadLog): Promise<void> {
  for (const [index, threadId] of THREADS.entries()) if (isThere(index)) await grow(log, threadId, lengthOf(index));
}

const ofEach = <T>(call: (threadId: string, index: number) => Promise<T>): Promise<readonly T[]> =>
  Promise.all(THREADS.map(call));

const recordsOf = (index: number): ReturnType<typeof recordAt>[] =>
  Array.from({ length: lengthOf(index) }, (_, at) => recordAt(at + 1));

export const togetherCases: readonly ThreadLogCase[] = threadLogCasesOf("calls of one moment", [
  {
    name: "what is asked of many threads at once is answered for each thread by itself",
    run: async ({ subject }) => {
      await fill(subject);
      const tails = await ofEach((threadId) => subject.tail(threadId));
      const lists = await ofEach((threadId) => subject.list(threadId, { limit: 2 }));
      const older = await ofEach((threadId) => subject.list(threadId, { limit: 9, before: 2 }));
      const chains = await ofEach((threadId) => subject.readCheckpoint(threadId, "checkpoint-2"));
      for (const [index, threadId] of THREADS.entries()) {
        if (!isThere(index)) {
          assert.deepEqual([tails[index], chains[index]], [undefined, undefined], `${threadId} is not there`);
          assert.deepEqual([lists[index], older[index]], [[], []], `${threadId} is not there`);
          continue;
        }
        const records = recordsOf(index);
        assertEntry(tails[index]?.entry, recordAt(lengthOf(index)), `the tail of ${threadId}`);
        assert.equal(tails[index]?.generation, "first");
        assertEntries(lists[index] ?? [], records.slice(-2).toReversed(), `the list of ${threadId}`);
        assertEntries(older[index] ?? [], records.slice(0, 1), `the older part of ${threadId}`);
        assertRecords(chains[index]?.records ?? [], records.slice(0, 2), `a checkpoint of ${threadId}`);
        assertEntry(chains[index]?.tail, recordAt(lengthOf(index)), `the tail beside a checkpoint of ${threadId}`);
      }
    },
  },
  {
    name: "of removals of one moment each is made or refused for its own thread",
    run: async ({ subject }) => {
      await fill(subject);
      const isMoved = (index: number): boolean => index % 4 === 1;
      const removed = await ofEach((threadId, index) =>
        subject.remove(threadId, placeAt(lengthOf(index) - (isMoved(index) ? 1 : 0))),
      );
      const expected = THREADS.map((_, index) => (!isThere(index) ? "absent" : isMoved(index) ? "moved" : "removed"));
      assert.deepEqual(removed, expected);
      for (const [index, threadId] of THREADS.entries()) {
        const left = isThere(index) && isMoved(index) ? recordsOf(index) : [];
        await assertThread(subject, threadId, left, `${threadId} afterwards`);
      }
    },
  },
  {
    name: "of appends of one moment that change older records each is made or refused for its own thread",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await fill(subject);
      const isLate = (index: number): boolean => index % 4 === 2;
      const replacement = (index: number): ReturnType<typeof recordAt> =>
        recordAt(2, { base: 2, header: `{"replaced":${index}}`, body: Buffer.from(`replaced ${index}`) });
      const outcomes = await ofEach((threadId, index) => {
        const seq = lengthOf(index) + (isLate(index) ? 0 : 1);
        const record = recordAt(seq, {
          base: Math.min(2, seq - 1),
          writeId: `edit ${index}`,
          checkpointId: `edit ${index}`,
        });
        const edits = seq > 2 ? { dropBelow: 2, replace: [replacement(index)] } : {};
        return subject.append(threadId, requestFor(record, edits));
      });
      for (const [index, threadId] of THREADS.entries()) {
        const isMade = isThere(index) && !isLate(index);
        assert.equal(outcomes[index]?.appended, isMade, `the append to ${threadId}`);
        const records = isThere(index) ? recordsOf(index) : [];
        if (!isMade) {
          await assertThread(subject, threadId, records, `${threadId}, which was refused`);
          continue;
        }
        const chain = await subject.readRecords(threadId, { limit: 9 });
        const seq = lengthOf(index) + 1;
        const added = recordAt(seq, { base: 2, writeId: `edit ${index}`, checkpointId: `edit ${index}` });
        assertRecords(
          chain?.records ?? [],
          [replacement(index), ...records.slice(2), added],
          `${threadId}, which was edited`,
        );
      }
    },
  },
]);
