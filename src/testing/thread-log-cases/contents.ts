import assert from "node:assert/strict";
import { assertRecords, assertThread, grow, markAt, present, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const everyByte = (): Uint8Array => Uint8Array.from({ length: 512 }, (_, index) => index % 256);

/** The texts a checksum is taken over: not one character may be "tidied up". */
const EXACT_TEXTS: readonly string[] = [
  '{"b":1,"a":2,"10":3,"9":4}',
  '{ "spaced" : 1.0, "again": 1e2, "big": 12345678901234567890, "again": 3 }',
  '{"nul":"a\\u0000b","high":"\\ud800","low":"\\udc00","pair":"\\ud83d\\ude00"}',
  '{"raw":"\u00e9 e\u0301 \u{1f600} \u2028 \ufeff \ufffd \u4f1a","quotes":"\\"\'`\\\\"}',
  '{"__proto__":{"a":1},"constructor":1,"$":"date","v":null}',
];

export const contentCases: readonly ThreadLogCase[] = threadLogCasesOf("contents", [
  {
    name: "every byte of a body survives",
    run: async ({ subject }) => {
      const record = await put(subject, "t", recordAt(1, { body: everyByte() }));
      await assertThread(subject, "t", [record], "the thread");
    },
  },
  {
    name: "a body of two megabytes survives",
    run: async ({ subject }) => {
      const size = Math.min(2 * 1024 * 1024, subject.capabilities.maxRecordBytes);
      const body = Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8)) % 256);
      const record = await put(subject, "t", recordAt(1, { body }));
      await assertThread(subject, "t", [record], "the thread");
    },
  },
  {
    name: "headers come back character by character",
    run: async ({ subject }) => {
      const records = EXACT_TEXTS.map((header, index) => recordAt(index + 1, { header }));
      for (const record of records) await put(subject, "t", record);
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "metadata comes back character by character",
    run: async ({ subject }) => {
      const records = EXACT_TEXTS.map((metadata, index) => recordAt(index + 1, { metadata }));
      for (const record of records) await put(subject, "t", record);
      await assertThread(subject, "t", records, "the thread");
      const listed = await subject.list("t", { limit: 10 });
      assert.deepEqual(listed.map((entry) => entry.metadata).toReversed(), EXACT_TEXTS);
    },
  },
  {
    name: "no metadata, empty metadata and no checkpoint id stay what they are",
    run: async ({ subject }) => {
      const records = [
        recordAt(1, { metadata: undefined }),
        recordAt(2, { metadata: "{}" }),
        markAt(3, { head: 2, metadata: undefined }),
        markAt(4, { head: 0, base: 1 }),
      ];
      for (const record of records) await put(subject, "t", record);
      await assertThread(subject, "t", records, "the thread");
    },
  },
  {
    name: "the caller's bytes and the stored bytes are not the same memory",
    run: async ({ subject }) => {
      const body = everyByte();
      await put(subject, "t", recordAt(1, { body }));
      body.fill(7);
      const first = present(await subject.readTail("t"), "the thread");
      assertRecords(first.records, [recordAt(1, { body: everyByte() })], "after the caller reused its bytes");
      for (const record of first.records) record.body.fill(9);
      const second = present(await subject.readTail("t"), "the thread");
      assertRecords(second.records, [recordAt(1, { body: everyByte() })], "after a reader changed what it got");
    },
  },
  {
    name: "a copy and its source do not share memory",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { body: everyByte() }));
      await subject.copy("t", "u", "second");
      for (const record of present(await subject.readTail("u"), "the copy").records) record.body.fill(9);
      await assertThread(subject, "t", [recordAt(1, { body: everyByte() })], "the source");
    },
  },
  {
    name: "what was read stays as it was when the thread changes",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      const before = present(await subject.readTail("t"), "the thread");
      await put(subject, "t", markAt(4), { drop: [1], replace: [recordAt(2, { header: "other" })] });
      assertRecords(before.records, records, "an answer already given");
    },
  },
]);
