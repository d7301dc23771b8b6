import assert from "node:assert/strict";
import type { LogRecord } from "../../checkpoint/thread-log.ts";
import { HOSTILE_IDS, shown } from "../hostile-ids.ts";
import { assertEntry, assertRecords, assertThread, present, put, recordAt, threadsOf } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** Pairs of a thread and a checkpoint that are the same string once they are joined. */
const JOINED_ALIKE = [":", "/", "|", "-", "_", " ", "\\", "."].flatMap((joint) => [
  [`a${joint}b`, "c"] as const,
  ["a", `b${joint}c`] as const,
]);

const recordOf = (index: number): LogRecord =>
  recordAt(1, { header: `{"thread":${index}}`, body: Buffer.from(`thread ${index}`) });

export const isolationCases: readonly ThreadLogCase[] = threadLogCasesOf("isolation", [
  {
    name: "every hostile id is a thread of its own",
    run: async ({ subject }) => {
      for (const [index, threadId] of HOSTILE_IDS.entries()) await put(subject, threadId, recordOf(index));
      for (const [index, threadId] of HOSTILE_IDS.entries()) {
        await assertThread(subject, threadId, [recordOf(index)], `thread ${shown(threadId)}`);
      }
    },
  },
  {
    name: "a thread id of 1088 bytes is taken: the longest that users may give, behind the name of a tenant",
    run: async ({ subject }) => {
      const ids = ["a", "b"].map((tenant) => `${tenant.repeat(63)}/${"\u00e9".repeat(511)}${"x".repeat(2)}`);
      for (const [index, threadId] of ids.entries()) {
        assert.equal(Buffer.byteLength(threadId), 1088);
        await put(subject, threadId, recordOf(index));
      }
      for (const [index, threadId] of ids.entries()) await assertThread(subject, threadId, [recordOf(index)], "it");
      if (!subject.capabilities.listThreads) return;
      const listed = await threadsOf(subject, `${"b".repeat(63)}/`, 5);
      assert.deepEqual(
        listed.map(({ threadId }) => threadId),
        [ids[1]],
      );
    },
  },
  {
    name: "every hostile id is listed as it was given",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      for (const [index, threadId] of HOSTILE_IDS.entries()) await put(subject, threadId, recordOf(index));
      const listed = await threadsOf(subject, "", 50);
      assert.deepEqual(listed.map(({ threadId }) => threadId).sort(), [...HOSTILE_IDS].sort());
      for (const { threadId, head } of listed) {
        assertEntry(head, recordOf(HOSTILE_IDS.indexOf(threadId)), `the head of ${shown(threadId)}`);
      }
    },
  },
  {
    name: "removing a hostile id removes that thread and no other",
    run: async ({ subject }) => {
      for (const [index, threadId] of HOSTILE_IDS.entries()) await put(subject, threadId, recordOf(index));
      const [even, odd] = [0, 1].map((rest) => HOSTILE_IDS.filter((_, index) => index % 2 === rest));
      for (const threadId of odd ?? []) assert.equal(await subject.remove(threadId), "removed", shown(threadId));
      for (const threadId of even ?? []) {
        await assertThread(subject, threadId, [recordOf(HOSTILE_IDS.indexOf(threadId))], `thread ${shown(threadId)}`);
      }
      for (const threadId of odd ?? []) assert.equal(await subject.readTail(threadId), undefined, shown(threadId));
    },
  },
  {
    name: "every hostile id is a checkpoint of its own",
    run: async ({ subject }) => {
      const records = HOSTILE_IDS.map((checkpointId, index) => recordAt(index + 1, { checkpointId, base: index + 1 }));
      for (const record of records) await put(subject, "t", record);
      for (const record of records) {
        const id = record.checkpointId ?? "";
        assertEntry(await subject.entry("t", id), record, `entry ${shown(id)}`);
        assertRecords(present(await subject.readCheckpoint("t", id), shown(id)).records, [record], shown(id));
      }
      const listed = await subject.list("t", { limit: records.length });
      assert.deepEqual(listed.map((entry) => entry.checkpointId).toReversed(), HOSTILE_IDS);
    },
  },
  {
    name: "a thread and a checkpoint are never told apart by a joined string",
    run: async ({ subject }) => {
      const lengths = new Map<string, number>();
      for (const [threadId, checkpointId] of JOINED_ALIKE) {
        const seq = (lengths.get(threadId) ?? 0) + 1;
        lengths.set(threadId, seq);
        await put(subject, threadId, recordAt(seq, { checkpointId, header: `${threadId}, ${checkpointId}` }));
      }
      for (const [threadId, checkpointId] of JOINED_ALIKE) {
        const entry = await subject.entry(threadId, checkpointId);
        assert.equal(entry?.header, `${threadId}, ${checkpointId}`);
      }
      assert.equal(await subject.entry("a", "c"), undefined);
    },
  },
  {
    name: "the same checkpoint ids may occur in every thread",
    run: async ({ subject }) => {
      for (const threadId of ["t", "u", "v"]) {
        await put(subject, threadId, recordAt(1, { checkpointId: "same", header: threadId, writeId: "same" }));
      }
      await subject.remove("u");
      assert.equal((await subject.entry("t", "same"))?.header, "t");
      assert.equal((await subject.entry("v", "same"))?.header, "v");
      assert.equal(await subject.entry("u", "same"), undefined);
    },
  },
]);
