import { damagedThread, sumOfThread } from "./integrity.ts";
import { isProvenThread, type ThreadRow } from "./rows.ts";
import type { Statements } from "./statements.ts";

/**
 * For a thread that was not found: fails if damage may be why. Rows of threads lie in the order of their ids, and one
 * whose id was damaged is not found by the id that it had; nor are others, if that id now leads to the wrong side of
 * them. A search that goes wrong ends beside the damaged row: that still has the checksum of its own id, or is
 * followed by an id that belongs before it.
 */
export function assertAbsent(statements: Statements, threadId: string): void {
  const before = statements.threadsBefore.all(threadId) as ThreadRow[];
  const behind = statements.threadsBehind.all(threadId) as ThreadRow[];
  const isIt = (row: ThreadRow): boolean =>
    !isProvenThread(row) && row.sum === sumOfThread({ ...row, thread_id: threadId });
  if (before.some(isIt) || behind.some(isIt)) throw damagedThread(threadId, "its id there is another one");
  const ids = [...before.toReversed(), { thread_id: threadId }, ...behind].map(({ thread_id: id }) =>
    Buffer.from(`${id}`),
  );
  const isSorted = ids.every((id, at) => at === 0 || Buffer.compare(ids[at - 1] ?? id, id) < 0);
  if (!isSorted) throw damagedThread(threadId, "rows beside its place are not in the order of their ids");
}
