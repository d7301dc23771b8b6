import assert from "node:assert/strict";
import { assertEntries, assertEntry, assertRecords, grow, markAt, present, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

export const readingCases: readonly ThreadLogCase[] = threadLogCasesOf("read", [
  {
    name: "the tail is read with every record from its base on, in ascending order",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      const rest = [recordAt(4, { base: 4 }), recordAt(5, { base: 4 }), recordAt(6, { base: 4 })];
      for (const record of rest) await put(subject, "t", record);
      const chain = present(await subject.readTail("t"), "the thread");
      assertRecords(chain.records, rest, "from the base on");
      assertEntry(chain.tail, recordAt(6, { base: 4 }), "the tail");
      assert.equal(chain.generation, "first");
    },
  },
  {
    name: "a tail that is no checkpoint is read like one",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      const mark = await put(subject, "t", markAt(3, { base: 2, head: 2 }));
      const chain = present(await subject.readTail("t"), "the thread");
      assertRecords(chain.records, [recordAt(2), mark], "the chain");
      assertEntry(chain.tail, mark, "the tail");
    },
  },
  {
    name: "the tail is the newest record at every moment",
    run: async ({ subject }) => {
      for (let seq = 1; seq <= 4; seq++) {
        await put(subject, "t", recordAt(seq));
        assertEntry((await subject.readTail("t"))?.tail, recordAt(seq), "readTail");
        assertEntry((await subject.tail("t"))?.entry, recordAt(seq), "tail");
        assertEntry((await subject.readCheckpoint("t", "checkpoint-1"))?.tail, recordAt(seq), "readCheckpoint");
      }
    },
  },
  {
    name: "a checkpoint is read with every record from its base up to it",
    run: async ({ subject }) => {
      const records = [
        recordAt(1),
        recordAt(2),
        recordAt(3, { base: 3 }),
        recordAt(4, { base: 3 }),
        recordAt(5, { base: 3 }),
      ];
      for (const record of records) await put(subject, "t", record);
      const early = present(await subject.readCheckpoint("t", "checkpoint-2"), "checkpoint 2");
      assertRecords(early.records, records.slice(0, 2), "up to checkpoint 2");
      const later = present(await subject.readCheckpoint("t", "checkpoint-4"), "checkpoint 4");
      assertRecords(later.records, records.slice(2, 4), "from its base up to checkpoint 4");
      assert.equal(later.generation, "first");
    },
  },
  {
    name: "a checkpoint that is not there, or is in another thread, reads as undefined",
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      await put(subject, "u", recordAt(1, { checkpointId: "elsewhere" }));
      assert.equal(await subject.readCheckpoint("t", "elsewhere"), undefined);
      assert.equal(await subject.entry("t", "elsewhere"), undefined);
      assert.equal(await subject.readCheckpoint("absent", "checkpoint-1"), undefined);
    },
  },
  {
    name: "an entry is found by its checkpoint id",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      assertEntry(await subject.entry("t", "checkpoint-2"), recordAt(2), "the entry");
    },
  },
  {
    name: "checkpoints are listed newest first",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 12);
      assertEntries(await subject.list("t", { limit: 100 }), records.toReversed(), "the list");
    },
  },
  {
    name: "a list holds as many as were asked for, below the position that was asked for",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 6);
      assertEntries(await subject.list("t", { limit: 2 }), [records[5], records[4]] as typeof records, "two");
      const below = await subject.list("t", { limit: 2, before: 4 });
      assertEntries(below, [records[2], records[1]] as typeof records, "two below 4");
      assert.deepEqual(await subject.list("t", { limit: 5, before: 1 }), []);
      assertEntries(
        await subject.list("t", { limit: 10, before: 99 }),
        records.toReversed(),
        "below a position beyond",
      );
    },
  },
  {
    name: "a list leaves out records that are no checkpoints, and does not count them",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1));
      await put(subject, "t", markAt(2, { head: 1 }));
      await put(subject, "t", recordAt(3));
      await put(subject, "t", markAt(4, { head: 3 }));
      await put(subject, "t", markAt(5, { head: 3 }));
      assertEntries(await subject.list("t", { limit: 2 }), [recordAt(3), recordAt(1)], "the list");
    },
  },
]);
