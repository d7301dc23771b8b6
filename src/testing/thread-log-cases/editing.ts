import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { failureOf } from "../expect-failure.ts";
import {
  assertEntries,
  assertEntry,
  assertRecords,
  assertThread,
  grow,
  markAt,
  present,
  put,
  recordAt,
  refused,
  requestFor,
  threadsOf,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

export const editingCases: readonly ThreadLogCase[] = threadLogCasesOf("edit", [
  {
    name: "dropped records are gone from every answer",
    run: async ({ subject }) => {
      await grow(subject, "t", 5);
      await put(subject, "t", markAt(6, { head: 5 }), { drop: [2, 4] });
      const kept = [recordAt(1), recordAt(3), recordAt(5), markAt(6, { head: 5 })];
      await assertThread(subject, "t", kept, "the thread");
      assertEntries(await subject.list("t", { limit: 9 }), [recordAt(5), recordAt(3), recordAt(1)], "the list");
      assert.equal(await subject.entry("t", "checkpoint-2"), undefined);
      assert.equal(await subject.readCheckpoint("t", "checkpoint-4"), undefined);
      const third = present(await subject.readCheckpoint("t", "checkpoint-3"), "checkpoint 3");
      assertRecords(third.records, [recordAt(1), recordAt(3)], "the records up to checkpoint 3");
    },
  },
  {
    name: "a replaced record is the new one in every answer",
    run: async ({ subject }) => {
      await grow(subject, "t", 4);
      const anew = {
        header: "anew",
        base: 2,
        metadata: '{"anew":true}',
        body: Buffer.from("a much longer body than before"),
      };
      const replacement = recordAt(2, anew);
      await put(subject, "t", markAt(5, { head: 4 }), { replace: [replacement] });
      const all = [recordAt(1), replacement, recordAt(3), recordAt(4), markAt(5, { head: 4 })];
      await assertThread(subject, "t", all, "the thread");
      assertEntry(await subject.entry("t", "checkpoint-2"), replacement, "the entry");
      assertEntries(await subject.list("t", { limit: 1, before: 3 }), [replacement], "the list");
      const chain = present(await subject.readCheckpoint("t", "checkpoint-2"), "checkpoint 2");
      assertRecords(chain.records, [replacement], "from its new base on");
    },
  },
  {
    name: "dropBelow takes every record below the position and not the one at it",
    run: async ({ subject }) => {
      await grow(subject, "t", 5);
      await put(subject, "t", markAt(6, { base: 1, head: 5 }), { dropBelow: 3 });
      const kept = [recordAt(3), recordAt(4), recordAt(5), markAt(6, { base: 1, head: 5 })];
      await assertThread(subject, "t", kept, "the thread");
      assert.equal(await subject.entry("t", "checkpoint-2"), undefined);
      assertEntry(await subject.entry("t", "checkpoint-3"), recordAt(3), "the record at the position");
    },
  },
  {
    name: "one append can replace, drop and drop below",
    run: async ({ subject }) => {
      await grow(subject, "t", 6);
      const replacement = recordAt(3, { base: 3, header: "anew", body: Buffer.from("anew") });
      await put(subject, "t", recordAt(7), { dropBelow: 3, drop: [5], replace: [replacement] });
      await assertThread(subject, "t", [replacement, recordAt(4), recordAt(6), recordAt(7)], "the thread");
    },
  },
  {
    name: "replacing a record that is not there is refused, and nothing is written",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", recordAt(4), { drop: [2] });
      const kept = [recordAt(1), recordAt(3), recordAt(4)];
      const lost = requestFor(recordAt(5), { replace: [recordAt(3, { header: "anew" }), recordAt(2)] });
      const failure = await failureOf(() => subject.append("t", lost), "a replacement of a dropped record");
      const code = StateError.is(failure) ? failure.code : subject.classify(failure);
      assert.equal(code, "INVALID_ARGUMENT", "a replacement of a dropped record");
      await assertThread(subject, "t", kept, "the thread");
      const late = requestFor(recordAt(4, { writeId: "late" }), { replace: [recordAt(2)] });
      if (subject.capabilities.conditionalAppend) refused(await subject.append("t", late), "a late append");
    },
  },
  {
    name: "the tail itself may be dropped by the append behind it",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      const request = requestFor(markAt(3, { head: 1 }), { drop: [2] });
      assert.equal((await subject.append("t", request)).appended, true);
      await assertThread(subject, "t", [recordAt(1), markAt(3, { head: 1 })], "the thread");
      const again = refused(await subject.append("t", request), "the repeated append");
      assert.equal(again.occupant?.writeId, "write-3");
    },
  },
  {
    name: "a checkpoint id moves to the new record when the old one is dropped with the same append",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      const moved = await put(subject, "t", recordAt(3, { checkpointId: "checkpoint-1" }), { drop: [1] });
      await assertThread(subject, "t", [recordAt(2), moved], "the thread");
      assertEntry(await subject.entry("t", "checkpoint-1"), moved, "the entry");
      const chain = present(await subject.readCheckpoint("t", "checkpoint-1"), "the moved checkpoint");
      assertRecords(chain.records, [recordAt(2), moved], "the chain");
    },
  },
  {
    name: "the head of a thread is what its tail says, after the newest checkpoint was dropped",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", markAt(4, { head: 2 }), { drop: [3] });
      const [thread] = await threadsOf(subject, "", 5);
      assertEntry(thread?.head, recordAt(2), "the head in listThreads");
      assertEntries(await subject.list("t", { limit: 1 }), [recordAt(2)], "the newest in list");
      assert.equal(await subject.entry("t", "checkpoint-3"), undefined);
    },
  },
  {
    name: "positions go on after a drop and are never used again",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", markAt(4, { head: 2 }), { drop: [3] });
      refused(await subject.append("t", requestFor(recordAt(3, { writeId: "again" }))), "an append into the gap");
      await put(subject, "t", recordAt(5));
      assertEntries(await subject.list("t", { limit: 9 }), [recordAt(5), recordAt(2), recordAt(1)], "the list");
    },
  },
]);
