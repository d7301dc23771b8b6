import assert from "node:assert/strict";
import { MOST_RECORDS } from "../../checkpoint/log/driver-rules.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { failsWith } from "../expect-failure.ts";
import {
  assertAbsent,
  assertEntries,
  assertEntry,
  assertThread,
  grow,
  markAt,
  put,
  recordAt,
  refused,
  requestFor,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const from = (first: number, count: number, fields: Partial<LogRecord> = {}): LogRecord[] =>
  Array.from({ length: count }, (_, index) => recordAt(first + index, fields));

export const batchCases: readonly ThreadLogCase[] = threadLogCasesOf("several records in one append", [
  {
    name: "records that are appended together are all there, in their order",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1), { more: from(2, 2) });
      await assertThread(subject, "t", from(1, 3), "a thread that was made by three records");
      await put(subject, "t", recordAt(4), { more: [markAt(5), recordAt(6, { names: ["n"] })] });
      const all = [...from(1, 4), markAt(5), recordAt(6, { names: ["n"] })];
      await assertThread(subject, "t", all, "the thread");
      const listed = [recordAt(6, { names: ["n"] }), ...from(1, 4).toReversed()];
      assertEntries(await subject.list("t", { limit: 9 }), listed, "the list");
      assertEntry(await subject.entry("t", "checkpoint-4"), recordAt(4), "the first of them");
      assertEntry(await subject.entry("t", "n"), recordAt(6, { names: ["n"] }), "the last of them");
      assert.equal((await subject.tail("t"))?.entry.seq, 6);
    },
  },
  {
    name: "records that are appended together are refused together, and the first position tells who is there",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      const late = requestFor(recordAt(3, { writeId: "late", checkpointId: "late" }), { more: from(4, 2) });
      const outcome = refused(await subject.append("t", late), "an append of several at a taken position");
      assertEntry(outcome.tail, recordAt(3), "the tail");
      assertEntry(outcome.occupant, recordAt(3), "the occupant");
      await assertThread(subject, "t", records, "the thread");
      const again = requestFor(recordAt(4), { more: from(5, 2) });
      assert.equal((await subject.append("t", again)).appended, true);
      const repeated = refused(await subject.append("t", again), "the repeated append");
      assert.equal(repeated.occupant?.writeId, "write-4");
      assertEntry(repeated.tail, recordAt(6), "the tail");
      await assertThread(subject, "t", from(1, 6), "the thread, in which each is once");
    },
  },
  {
    name: "records that would begin a thread which is there are refused together, and it stays as it was",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      const rival = { body: Buffer.from("rival") };
      const second = requestFor(recordAt(1, rival), { generation: "another", more: from(2, 3, rival) });
      refused(await subject.append("t", second), "several records that begin a thread");
      await assertThread(subject, "t", records, "the thread");
      assertEntry(await subject.entry("t", "checkpoint-2"), recordAt(2), "its second record");
      const bodyOf = (index: number) => ({ body: Buffer.from(`rival ${index}`) });
      const rivals = Array.from({ length: 6 }, (_, index) =>
        requestFor(recordAt(1, bodyOf(index)), { generation: `rival ${index}`, more: from(2, 2, bodyOf(index)) }),
      );
      const outcomes = await Promise.all(rivals.map((request) => subject.append("u", request)));
      const winner = outcomes.findIndex(({ appended }) => appended);
      assert.equal(outcomes.filter(({ appended }) => appended).length, 1);
      assert.equal((await subject.tail("u"))?.generation, `rival ${winner}`);
      await assertThread(subject, "u", from(1, 3, bodyOf(winner)), "the thread that one of them began");
    },
  },
  {
    name: "records that are appended together may build on one another, and come with edits of older ones",
    run: async ({ subject }) => {
      await grow(subject, "t", 4);
      const anew = recordAt(3, { header: "anew", base: 3, body: Buffer.from("anew") });
      const first = recordAt(5, { base: 3 });
      const last = recordAt(6, { base: 3, head: 5 });
      await put(subject, "t", first, { more: [last], replace: [anew], drop: [4], dropBelow: 3 });
      const chain = await subject.readTail("t");
      assertEntries(chain?.records ?? [], [anew, first, last], "the thread");
      assertEntries(await subject.list("t", { limit: 9 }), [last, first, anew], "the list");
      assert.equal(await subject.entry("t", "checkpoint-4"), undefined);
    },
  },
  {
    name: "as many records as one append may bring are taken, and no more; one that does not follow is refused",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1), { more: from(2, MOST_RECORDS - 1, { base: 1 }) });
      assert.equal((await subject.readTail("t"))?.records.length, MOST_RECORDS);
      const next = MOST_RECORDS + 1;
      for (const more of [from(next + 1, MOST_RECORDS), from(next + 2, 1), from(next, 1), from(1, 1)]) {
        const append = (): unknown => subject.append("t", requestFor(recordAt(next), { more }));
        await failsWith("INVALID_ARGUMENT", append, `${more.length} more, from ${more[0]?.seq}`);
      }
      const outside = [recordAt(2, { base: 3 }), recordAt(2, { head: 3 }), recordAt(2, { names: [] })];
      for (const each of outside) {
        const append = (): unknown => subject.append("u", requestFor(recordAt(1), { more: [each] }));
        await failsWith("INVALID_ARGUMENT", append, "a record that points outside");
      }
      await assertAbsent(subject, "u", "after the refusals");
      assert.equal((await subject.tail("t"))?.entry.seq, MOST_RECORDS);
    },
  },
  {
    name: "a reader never sees a part of several records, and of two such appends exactly one wins",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1));
      for (let round = 0; round < 8; round++) {
        const seq = round * 3 + 2;
        const after = (await subject.tail("t"))?.entry.writeId ?? "";
        const mine = (writer: string): LogRecord[] =>
          from(seq, 3).map((record) => ({ ...record, writeId: `${writer}-${record.seq}` }));
        const [outcomes, seen] = await Promise.all([
          Promise.all(
            ["a", "b"].map((writer) => {
              const [record = recordAt(seq), ...more] = mine(writer);
              return subject.append("t", requestFor(record, { more, after }));
            }),
          ),
          Promise.all([subject.readTail("t"), subject.tail("t"), subject.readTail("t")]),
        ]);
        assert.equal(outcomes.filter(({ appended }) => appended).length, 1, "exactly one of two wins");
        for (const answer of seen) {
          const tail = answer !== undefined && "tail" in answer ? answer.tail : answer?.entry;
          assert.equal(((tail?.seq ?? 0) - 1) % 3, 0, `a tail at ${tail?.seq} is in the middle of an append`);
        }
        const newest = (await subject.readTail("t"))?.records.slice(-3) ?? [];
        const writers = new Set(newest.map(({ writeId }) => writeId[0]));
        assert.equal(writers.size, 1, "records of two appends must not be mixed");
      }
    },
  },
]);
