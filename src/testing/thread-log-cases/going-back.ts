import assert from "node:assert/strict";
import type { LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { assertEntry, assertThread, grow, placeAt, put, recordAt, refused, requestFor } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** A record of the other writer: the same numbers, other writes. */
const otherAt = (seq: number): LogRecord =>
  recordAt(seq, { writeId: `other-${seq}`, checkpointId: `other checkpoint ${seq}`, header: `{"other":${seq}}` });

interface PutBack {
  /** The instance that wrote what was lost. */
  readonly stale: ThreadLog;
  /** The one that wrote since, as another process. */
  readonly other: ThreadLog;
  /** What is in the thread now. */
  readonly now: readonly LogRecord[];
}

/**
 * The thread had `kept` records when its storage was copied. `stale` wrote `lost` more, the copy was put back, and
 * another process wrote `written`: as after the promotion of a replica that lagged, or a restored backup.
 */
async function putBack(
  fixture: Fixture<ThreadLog>,
  { kept, lost, written }: { readonly kept: number; readonly lost: number; readonly written: number },
  threadId = "t",
): Promise<PutBack> {
  const { subject: stale, copy } = fixture;
  const records = await grow(stale, threadId, kept);
  const restore = await copy?.();
  for (let seq = kept + 1; seq <= kept + lost; seq++) await put(stale, threadId, recordAt(seq));
  // Whatever an instance keeps of a thread that it has read.
  await stale.readTail(threadId);
  await stale.readCheckpoint(threadId, `checkpoint-${kept + 1}`);
  await stale.list(threadId, { limit: kept + lost });
  const other = await another(fixture);
  await (restore ?? (() => rewrite(other, threadId, records)))();
  const now = [...records];
  for (let seq = kept + 1; seq <= kept + written; seq++) {
    const after = seq === kept + 1 ? `write-${kept}` : `other-${seq - 1}`;
    now.push(await put(other, threadId, otherAt(seq), { after }));
  }
  return { stale, other, now };
}

/** For storages that cannot be copied here: the thread's records as they were, under their generation. */
async function rewrite(log: ThreadLog, threadId: string, records: readonly LogRecord[]): Promise<void> {
  await log.remove(threadId);
  for (const record of records) await put(log, threadId, record);
}

const NEEDS = ["conditionalAppend", "reopen"] as const;

export const goingBackCases: readonly ThreadLogCase[] = threadLogCasesOf("going back", [
  {
    name: "no append is accepted behind a record that was lost, though another has its number",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, now } = await putBack(fixture, { kept: 2, lost: 2, written: 2 });
      const outcome = refused(await stale.append("t", requestFor(recordAt(5))), "an append behind a lost record");
      assertEntry(outcome.tail, otherAt(4), "the tail that the refused writer is told");
      assert.equal(outcome.generation, "first");
      assert.equal(outcome.occupant, undefined);
      await assertThread(stale, "t", now, "the thread, as the refused writer reads it");
    },
  },
  {
    name: "no append of several records, and none that replaces or drops, is accepted behind a record that was lost",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, other, now } = await putBack(fixture, { kept: 2, lost: 2, written: 2 });
      const [record, further] = [recordAt(5), recordAt(6)];
      for (const fields of [{ more: [further] }, { replace: [recordAt(1, { header: "anew" })] }, { drop: [2] }]) {
        refused(await stale.append("t", requestFor(record, fields)), "an edit behind a lost record");
        await assertThread(other, "t", now, "the thread");
      }
      refused(await stale.append("t", requestFor(record, { dropBelow: 3 })), "a cut behind a lost record");
      await assertThread(other, "t", now, "the thread");
    },
  },
  {
    name: "a lost append that is sent again is refused, and what occupies its place is another's",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, now } = await putBack(fixture, { kept: 2, lost: 2, written: 2 });
      const first = refused(await stale.append("t", requestFor(recordAt(3))), "the append of what was lost");
      assertEntry(first.occupant, otherAt(3), "the occupant");
      const second = refused(await stale.append("t", requestFor(recordAt(4))), "the one behind it");
      assertEntry(second.occupant, otherAt(4), "the occupant");
      await assertThread(stale, "t", now, "the thread");
    },
  },
  {
    name: "a reader that knows a lost record is given the whole chain, and one that knows a kept record what is newer",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, now } = await putBack(fixture, { kept: 2, lost: 2, written: 3 });
      for (const seq of [3, 4]) {
        const chain = await stale.readTail("t", { newerThan: placeAt(seq) });
        assert.deepEqual(
          chain?.records.map(({ writeId }) => writeId),
          now.map(({ writeId }) => writeId),
          `to a caller that knows the lost record ${seq}`,
        );
      }
      const newer = await stale.readTail("t", { newerThan: placeAt(2) });
      assert.deepEqual(
        newer?.records.map(({ writeId }) => writeId),
        ["other-3", "other-4", "other-5"],
      );
    },
  },
  {
    name: "a removal that names a lost record does nothing",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, now } = await putBack(fixture, { kept: 2, lost: 2, written: 2 });
      assert.equal(await stale.remove("t", placeAt(4)), "moved");
      assert.equal(await stale.remove("t", placeAt(3)), "moved");
      await assertThread(stale, "t", now, "the thread");
      assert.equal(await stale.remove("t", placeAt(4, "first", "other-4")), "removed");
    },
  },
  {
    name: "if there was no other write since, the older tail is reported and the thread continues from it",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, other, now } = await putBack(fixture, { kept: 2, lost: 3, written: 0 });
      const outcome = refused(await stale.append("t", requestFor(recordAt(6))), "an append behind a lost record");
      assertEntry(outcome.tail, recordAt(2), "the tail");
      assert.equal(outcome.occupant, undefined);
      const next = await put(stale, "t", otherAt(3), { after: "write-2" });
      await assertThread(other, "t", [...now, next], "the thread");
      await assertThread(stale, "t", [...now, next], "the thread, as its writer reads it");
    },
  },
  {
    name: "nothing that was lost is read again, however long the thread is",
    needs: NEEDS,
    run: async (fixture) => {
      const { stale, now } = await putBack(fixture, { kept: 30, lost: 60, written: 70 });
      await assertThread(stale, "t", now, "the thread");
      const names = (await stale.list("t", { limit: 200 })).map(({ checkpointId }) => checkpointId);
      assert.deepEqual(names, now.map(({ checkpointId }) => checkpointId).reverse());
      assert.equal(await stale.entry("t", "checkpoint-31"), undefined, "a lost name");
      assertEntry(await stale.entry("t", "other checkpoint 31"), otherAt(31), "the name that took its place");
      const chain = await stale.readCheckpoint("t", "other checkpoint 64");
      assert.deepEqual(
        chain?.records.map(({ writeId }) => writeId),
        now.slice(0, 64).map(({ writeId }) => writeId),
      );
      const next = await put(stale, "t", otherAt(101), { after: "other-100" });
      await assertThread(stale, "t", [...now, next], "the thread, a record later");
    },
  },
  {
    name: "of appends to many threads at once, those behind lost records are refused",
    needs: NEEDS,
    run: async (fixture) => {
      const ids = Array.from({ length: 12 }, (_, index) => `thread ${index}`);
      const { subject: stale } = fixture;
      await Promise.all(ids.map((threadId) => grow(stale, threadId, 3)));
      const other = await another(fixture);
      const changed = ids.filter((_, index) => index % 3 === 0);
      for (const threadId of changed) {
        await rewrite(other, threadId, [recordAt(1), recordAt(2)]);
        await put(other, threadId, otherAt(3), { after: "write-2" });
      }
      const outcomes = await Promise.all(ids.map((threadId) => stale.append(threadId, requestFor(recordAt(4)))));
      assert.deepEqual(
        ids.filter((_, index) => outcomes[index]?.appended === false),
        changed,
      );
      const removed = await Promise.all(ids.map((threadId) => stale.remove(threadId, placeAt(4))));
      assert.deepEqual(
        ids.filter((_, index) => removed[index] === "moved"),
        changed,
      );
    },
  },
]);
