import assert from "node:assert/strict";
import {
  assertAbsent,
  assertThread,
  grow,
  markAt,
  placeAt,
  put,
  recordAt,
  refused,
  requestFor,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

export const removingCases: readonly ThreadLogCase[] = threadLogCasesOf("remove", [
  {
    name: "a removed thread is gone from every answer, and can be removed once",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", markAt(4, { head: 3 }));
      assert.equal(await subject.remove("t"), "removed");
      await assertAbsent(subject, "t", "after the removal");
      assert.equal(await subject.remove("t"), "absent");
    },
  },
  {
    name: "a thread without a checkpoint can be removed",
    run: async ({ subject }) => {
      await put(subject, "t", markAt(1, { head: 0 }));
      assert.equal(await subject.remove("t"), "removed");
      await assertAbsent(subject, "t", "after the removal");
    },
  },
  {
    name: "a removal that names another tail does nothing",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      assert.equal(await subject.remove("t", placeAt(2)), "moved");
      assert.equal(await subject.remove("t", placeAt(4)), "moved");
      assert.equal(await subject.remove("t", placeAt(3, "second")), "moved");
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "a removal that names the tail takes the thread",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      assert.equal(await subject.remove("t", placeAt(3)), "removed");
      await assertAbsent(subject, "t", "after the removal");
      assert.equal(await subject.remove("t", placeAt(3)), "absent");
    },
  },
  {
    name: "a removal that expects no thread takes none",
    run: async ({ subject }) => {
      const nothing = placeAt(0);
      assert.equal(await subject.remove("t", nothing), "absent");
      const records = await grow(subject, "t", 3);
      assert.equal(await subject.remove("t", nothing), "moved");
      await assertThread(subject, "t", records, "the thread");
      await subject.remove("t");
      assert.equal(await subject.remove("t", nothing), "absent");
      await assertAbsent(subject, "t", "after all removals");
    },
  },
  {
    name: "a removal touches no other thread",
    run: async ({ subject }) => {
      const neighbours = ["org/alice", "org:alice", "orga", "Org", "org ", "or", "org_", "org%"];
      for (const threadId of ["org", ...neighbours]) await grow(subject, threadId, 2);
      assert.equal(await subject.remove("org"), "removed");
      for (const threadId of neighbours) {
        await assertThread(subject, threadId, [recordAt(1), recordAt(2)], `thread ${threadId}`);
      }
    },
  },
  {
    name: "a late append brings nothing of a removed thread back",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await subject.remove("t");
      const late = refused(await subject.append("t", requestFor(recordAt(4))), "an append to a removed thread");
      assert.deepEqual([late.tail, late.generation, late.occupant], [undefined, undefined, undefined]);
      await assertAbsent(subject, "t", "after the late append");
    },
  },
  {
    name: "a thread made anew holds nothing of the removed one",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await subject.remove("t");
      const first = await put(subject, "t", recordAt(1, { writeId: "anew" }), { generation: "second" });
      await assertThread(subject, "t", [first], "the new thread");
      assert.equal((await subject.tail("t"))?.generation, "second");
      assert.equal(await subject.entry("t", "checkpoint-2"), undefined);
      assert.equal((await subject.list("t", { limit: 9 })).length, 1);
    },
  },
  {
    name: "a writer of the removed generation is refused though the new thread is as long",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      await subject.remove("t");
      const records = await grow(subject, "t", 2, "second");
      const late = refused(await subject.append("t", requestFor(recordAt(3))), "an append of the old generation");
      assert.equal(late.generation, "second");
      assert.equal(late.occupant, undefined);
      await assertThread(subject, "t", records, "the new thread");
    },
  },
  {
    name: "a removal that names the old generation leaves the new thread alone",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      await subject.remove("t");
      const records = await grow(subject, "t", 2, "second");
      assert.equal(await subject.remove("t", placeAt(2)), "moved");
      await assertThread(subject, "t", records, "the new thread");
    },
  },
]);
