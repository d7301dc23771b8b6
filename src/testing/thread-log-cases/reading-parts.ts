import assert from "node:assert/strict";
import type { LogChain } from "../../checkpoint/log/thread-log.ts";
import { assertEntry, assertRecords, grow, markAt, placeAt, present, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const seqs = (chain: LogChain | undefined): readonly number[] | undefined => chain?.records.map(({ seq }) => seq);

export const partialReadingCases: readonly ThreadLogCase[] = threadLogCasesOf("reading a part", [
  {
    name: "a reader that names a place in the thread is given only what is newer",
    run: async ({ subject }) => {
      await grow(subject, "t", 4);
      const newerThan = placeAt(2);
      const chain = present(await subject.readTail("t", { newerThan }), "the thread");
      assertRecords(chain.records, [recordAt(3), recordAt(4)], "what is newer than 2");
      assertEntry(chain.tail, recordAt(4), "the tail");
      assert.equal(chain.generation, "first");
      const nothing = present(await subject.readTail("t", { newerThan: placeAt(4) }), "the thread");
      assert.deepEqual(seqs(nothing), [], "nothing is newer than the tail");
      assertEntry(nothing.tail, recordAt(4), "the tail");
      await put(subject, "t", recordAt(5, { base: 5 }));
      await put(subject, "t", recordAt(6, { base: 5 }));
      assert.deepEqual(seqs(await subject.readTail("t", { newerThan })), [5, 6], "nothing below the newest base");
    },
  },
  {
    name: "a place that is not in the thread any more gives the whole chain",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      const other = placeAt(2, "second");
      const beyond = placeAt(9);
      const anothers = placeAt(2, "first", "another");
      const tails = placeAt(3, "first", "another");
      for (const newerThan of [other, beyond, anothers, tails]) {
        assert.deepEqual(seqs(await subject.readTail("t", { newerThan })), [1, 2, 3]);
      }
      assert.equal(await subject.readTail("absent", { newerThan: other }), undefined);
      await put(subject, "t", markAt(4), { drop: [2] });
      const dropped = placeAt(2);
      assert.deepEqual(seqs(await subject.readTail("t", { newerThan: dropped })), [1, 3, 4], "a dropped place is none");
      assert.deepEqual(seqs(await subject.readTail("t", { newerThan: placeAt(3) })), [4]);
    },
  },
  {
    name: "records are read backwards in pages, those without a name too, whatever was dropped",
    run: async ({ subject }) => {
      await grow(subject, "t", 4);
      await put(subject, "t", markAt(5));
      await put(subject, "t", recordAt(6, { base: 6 }));
      await put(subject, "t", markAt(7, { base: 6 }), { drop: [2] });
      const page = async (before?: number): Promise<LogChain> =>
        present(await subject.readRecords("t", { limit: 2, ...(before !== undefined && { before }) }), "the thread");
      const newest = await page();
      assertRecords(newest.records, [recordAt(6, { base: 6 }), markAt(7, { base: 6 })], "the newest two");
      assertEntry(newest.tail, markAt(7, { base: 6 }), "the tail");
      assert.equal(newest.generation, "first");
      assert.deepEqual(seqs(await page(6)), [4, 5]);
      assert.deepEqual(seqs(await page(4)), [1, 3]);
      assert.deepEqual(seqs(await page(2)), [1]);
      assert.deepEqual(seqs(await page(1)), [], "nothing is below the first");
      assert.deepEqual(seqs(await page(1e9)), [6, 7], "a position beyond the tail is above everything");
    },
  },
  {
    name: "a page of large records holds fewer of them, and one at least",
    run: async ({ subject }) => {
      const size = Math.min(3 * 1024 * 1024, subject.capabilities.maxRecordBytes);
      for (let seq = 1; seq <= 4; seq++) await put(subject, "t", recordAt(seq, { body: Buffer.alloc(size, seq) }));
      const met: number[] = [];
      for (let before: number | undefined; ; before = met[0]) {
        const options = { limit: 100, ...(before !== undefined && { before }) };
        const { records } = present(await subject.readRecords("t", options), "the thread");
        if (records.length === 0) break;
        assert.ok(
          records.length * size <= 8 * 1024 * 1024 || records.length === 1,
          `${records.length} records in a page`,
        );
        for (const { seq, body } of records) assert.ok(body.byteLength === size && body[size - 1] === seq);
        met.unshift(...records.map(({ seq }) => seq));
      }
      assert.deepEqual(met, [1, 2, 3, 4]);
    },
  },
]);
