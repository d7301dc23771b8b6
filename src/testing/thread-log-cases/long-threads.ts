import assert from "node:assert/strict";
import type { LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { assertAbsent, assertEntries, assertRecords, markAt, present, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** More than the thousand that the pages of storage systems end at. */
const LENGTH = 1040;

async function growLong(log: ThreadLog): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for (let seq = 1; seq <= LENGTH; seq++) records.push(await put(log, "t", recordAt(seq)));
  return records;
}

/** One thread serves all of these: making it is what takes the time. */
export const longThreadCases: readonly ThreadLogCase[] = threadLogCasesOf("long threads", [
  {
    name: "a thread of more than a thousand records is read, listed, copied, shortened and removed whole",
    run: async ({ subject }) => {
      const records = await growLong(subject);
      assertRecords(present(await subject.readTail("t"), "the thread").records, records, "readTail");
      assertEntries(await subject.list("t", { limit: 5000 }), records.toReversed(), "list");
      await subject.copy("t", "u", "second");
      assertRecords(present(await subject.readTail("u"), "the copy").records, records, "the copy");
      await put(subject, "u", markAt(LENGTH + 1), { generation: "second", dropBelow: LENGTH - 1 });
      assert.equal((await subject.list("u", { limit: 5000 })).length, 2, "after dropBelow");
      assert.equal(await subject.remove("t"), "removed");
      await assertAbsent(subject, "t", "after the removal");
      await put(subject, "t", recordAt(1), { generation: "third" });
      assert.equal((await subject.list("t", { limit: 5000 })).length, 1, "nothing of the removed thread may be left");
      assert.equal(await subject.entry("t", `checkpoint-${LENGTH}`), undefined, "not even its last record");
    },
  },
]);
