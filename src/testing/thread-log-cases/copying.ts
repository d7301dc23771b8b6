import assert from "node:assert/strict";
import {
  assertAbsent,
  assertEntries,
  assertEntry,
  assertThread,
  grow,
  markAt,
  put,
  recordAt,
  requestFor,
  threadsOf,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

export const copyingCases: readonly ThreadLogCase[] = threadLogCasesOf("copy", [
  {
    name: "a copy has the records of its source, positions and tail included, and a generation of its own",
    run: async ({ subject }) => {
      const records = [...(await grow(subject, "t", 4)), markAt(5, { head: 3, metadata: undefined })];
      await put(subject, "t", markAt(5, { head: 3 }), { drop: [4] });
      records.splice(3, 1);
      assert.equal(await subject.copy("t", "u", "second"), "copied");
      await assertThread(subject, "u", records, "the copy");
      await assertThread(subject, "t", records, "the source");
      assert.equal((await subject.tail("u"))?.generation, "second");
      assert.equal((await subject.tail("t"))?.generation, "first");
    },
  },
  {
    name: "a copy is listed in the order of its source",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 5);
      await subject.copy("t", "u", "second");
      assertEntries(await subject.list("u", { limit: 9 }), records.toReversed(), "the copy's list");
      assertEntry(await subject.entry("u", "checkpoint-2"), recordAt(2), "an entry of the copy");
    },
  },
  {
    name: "a copy has the head of its source",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      await grow(subject, "t", 5);
      await put(subject, "t", markAt(6, { head: 4 }), { drop: [5] });
      await subject.copy("t", "u", "second");
      const [copy] = await threadsOf(subject, "u", 9);
      assertEntry(copy?.head, recordAt(4), "the copy's head");
    },
  },
  {
    name: "without a source nothing is copied",
    run: async ({ subject }) => {
      assert.equal(await subject.copy("absent", "u", "second"), "no source");
      await assertAbsent(subject, "u", "the target");
      await assertAbsent(subject, "absent", "the source");
    },
  },
  {
    name: "a target that exists is left alone",
    run: async ({ subject }) => {
      const source = await grow(subject, "t", 3);
      const target = [recordAt(1, { header: "target" })];
      await put(subject, "u", target[0] as (typeof source)[number], { generation: "of u" });
      assert.equal(await subject.copy("t", "u", "second"), "target exists");
      await assertThread(subject, "u", target, "the target");
      await assertThread(subject, "t", source, "the source");
      assert.equal((await subject.tail("u"))?.generation, "of u");
    },
  },
  {
    name: "a copy and its source go on without each other",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      await subject.copy("t", "u", "second");
      const ofCopy = await put(subject, "u", recordAt(3, { header: "copy" }), { generation: "second" });
      const ofSource = await put(subject, "t", recordAt(3, { header: "source" }), { drop: [1] });
      await assertThread(subject, "u", [...records, ofCopy], "the copy");
      await assertThread(subject, "t", [recordAt(2), ofSource], "the source");
      await subject.remove("t");
      await assertThread(subject, "u", [...records, ofCopy], "the copy after its source was removed");
    },
  },
  {
    name: "an append of the source's generation is refused by the copy",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      await subject.copy("t", "u", "second");
      assert.equal((await subject.append("u", requestFor(recordAt(3)))).appended, false);
      await assertThread(subject, "u", records, "the copy");
    },
  },
  {
    name: "a thread can be copied to where one was removed",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 2);
      await grow(subject, "u", 4, "old");
      await subject.remove("u");
      assert.equal(await subject.copy("t", "u", "second"), "copied");
      await assertThread(subject, "u", records, "the copy");
      assert.equal(await subject.entry("u", "checkpoint-4"), undefined);
    },
  },
]);
