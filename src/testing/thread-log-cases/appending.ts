import assert from "node:assert/strict";
import {
  assertAbsent,
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

export const appendingCases: readonly ThreadLogCase[] = threadLogCasesOf("append", [
  {
    name: "a thread that was never written is absent",
    run: async ({ subject }) => {
      await assertAbsent(subject, "t", "an unwritten thread");
      assert.equal(await subject.remove("t"), "absent");
    },
  },
  {
    name: "the first append makes the thread",
    run: async ({ subject }) => {
      const record = await put(subject, "t", recordAt(1));
      await assertThread(subject, "t", [record], "the thread");
      assert.equal((await subject.tail("t"))?.generation, "first");
    },
  },
  {
    name: "appends follow one another",
    run: async ({ subject }) => assertThread(subject, "t", await grow(subject, "t", 5), "the thread"),
  },
  {
    name: "an append behind the tail is refused and told the tail, the generation and the occupant",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      const late = recordAt(2, { writeId: "late", checkpointId: "late" });
      const outcome = refused(await subject.append("t", requestFor(late)), "an append at a taken position");
      assertEntry(outcome.tail, recordAt(3), "the tail");
      assert.equal(outcome.generation, "first");
      assertEntry(outcome.occupant, recordAt(2), "the occupant");
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "an append beyond the tail is refused",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      const outcome = refused(await subject.append("t", requestFor(recordAt(4))), "an append after a gap");
      assertEntry(outcome.tail, recordAt(2), "the tail");
      assert.equal(outcome.occupant, undefined);
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "an append to a thread that is not there is refused unless it expects none",
    run: async ({ subject }) => {
      const outcome = refused(await subject.append("t", requestFor(recordAt(3))), "an append that expects a tail");
      assert.deepEqual([outcome.tail, outcome.generation, outcome.occupant], [undefined, undefined, undefined]);
      await assertAbsent(subject, "t", "after the refusal");
    },
  },
  {
    name: "an append that expects no thread is refused where there is one",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      const fresh = requestFor(recordAt(1, { writeId: "fresh" }), { generation: "second" });
      const outcome = refused(await subject.append("t", fresh), "a second creation");
      assertEntry(outcome.tail, recordAt(2), "the tail");
      assert.equal(outcome.generation, "first");
      assert.equal(outcome.occupant, undefined, "an occupant is of the same generation or there is none");
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "an append of another generation is refused though its position fits",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      const outcome = refused(
        await subject.append("t", requestFor(recordAt(3), { generation: "second" })),
        "an append of another generation",
      );
      assertEntry(outcome.tail, recordAt(2), "the tail");
      assert.equal(outcome.generation, "first");
      assert.equal(outcome.occupant, undefined);
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "a refused append leaves nothing of its edits behind",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 4);
      const edits = {
        drop: [1],
        dropBelow: 3,
        replace: [recordAt(3, { header: "replaced", body: Buffer.from("other") })],
      };
      const late = requestFor(recordAt(4, { writeId: "late", checkpointId: "late" }), edits);
      refused(await subject.append("t", late), "an append with edits at a taken position");
      await assertThread(subject, "t", records, "the thread");
      assert.equal(await subject.entry("t", "late"), undefined);
    },
  },
  {
    name: "a repeated append is refused, sees itself as the occupant and is stored once",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 1);
      const request = requestFor(recordAt(2));
      assert.equal((await subject.append("t", request)).appended, true);
      const again = refused(await subject.append("t", request), "the repeated append");
      assert.equal(again.occupant?.writeId, request.record.writeId);
      await put(subject, "t", recordAt(3));
      const later = refused(await subject.append("t", request), "the append repeated after another");
      assert.equal(later.occupant?.writeId, request.record.writeId);
      await assertThread(subject, "t", [recordAt(1), recordAt(2), recordAt(3)], "the thread");
    },
  },
  {
    name: "a repeated creation sees itself as the occupant",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 1);
      const again = refused(await subject.append("t", requestFor(recordAt(1))), "the repeated creation");
      assert.equal(again.occupant?.writeId, "write-1");
      assert.equal(again.generation, "first");
    },
  },
  {
    name: "a position whose record was dropped has no occupant",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", markAt(4), { drop: [2] });
      const late = refused(await subject.append("t", requestFor(recordAt(2))), "an append at a dropped position");
      assert.equal(late.occupant, undefined);
      assertEntry(late.tail, markAt(4), "the tail");
    },
  },
]);
