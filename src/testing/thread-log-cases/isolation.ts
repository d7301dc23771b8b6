import assert from "node:assert/strict";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { MAX_ID_BYTES, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { failsWith } from "../expect-failure.ts";
import { HOSTILE_IDS, shown } from "../hostile-ids.ts";
import {
  assertEntry,
  assertRecords,
  assertThread,
  present,
  put,
  recordAt,
  requestFor,
  threadsOf,
} from "./sample-records.ts";
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
    name: "the longest thread id is taken whole: 1088 bytes, or as many as a layer says that leave users their 1024",
    run: async ({ subject }) => {
      const { maxThreadIdBytes: longest = MAX_THREAD_ID_BYTES } = subject.capabilities;
      assert.ok(longest >= MAX_ID_BYTES, `users may give ${MAX_ID_BYTES} bytes, and ${longest} are taken`);
      const ids = ["a", "b"].map((tenant) => {
        const begins = `${tenant.repeat(63)}/${"\u00e9".repeat(479)}`;
        return begins.padEnd(begins.length + longest - Buffer.byteLength(begins), "x");
      });
      for (const [index, threadId] of ids.entries()) {
        assert.equal(Buffer.byteLength(threadId), longest);
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
    name: "a thread id that is longer than the log says it takes is INVALID_ARGUMENT",
    run: async ({ subject }) => {
      const { maxThreadIdBytes: longest } = subject.capabilities;
      if (longest === undefined) return;
      for (const threadId of ["x".repeat(longest + 1), `${"x".repeat(longest - 1)}\u00e9`]) {
        await failsWith("INVALID_ARGUMENT", () => subject.append(threadId, requestFor(recordOf(1))), "append");
        await failsWith("INVALID_ARGUMENT", () => subject.readTail(threadId), "readTail");
        await failsWith("INVALID_ARGUMENT", () => subject.copy("t", threadId, "second"), "copy");
      }
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
