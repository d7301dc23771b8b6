import type { Leftover, Thread } from "./documents.ts";
import { deleteGone, deleteRecord, putRecord, putStub } from "./items.ts";
import type { BulkItem, Requests, Revision } from "./requests.ts";

/** Whether a head document lists nothing that may be left to do. */
export const isFinished = ({ edits, leftovers }: Thread): boolean => edits === undefined && leftovers.length === 0;

/** Does what a head document lists. Any process may do so, several at once, and again: each step leads to the same documents. */
export async function finish(requests: Requests, thread: Thread): Promise<void> {
  const { key, edits, floor, tail, life, leftovers } = thread;
  if (edits !== undefined) {
    await requests.bulkAll([
      ...edits.replace.map((record) => putRecord(thread, record, tail.seq)),
      ...edits.drop.map((seq) => putStub(thread, seq, tail.seq)),
    ]);
    await requests.bulkAll(deletions(key, { life, from: edits.from, to: floor - 1 }));
  }
  await clearAway(requests, key, leftovers);
}

export async function clearAway(requests: Requests, key: string, leftovers: readonly Leftover[]): Promise<void> {
  for (const leftover of leftovers) await requests.bulkAll(deletions(key, leftover));
}

/** Deletes the rest of removed threads, and then the document that lists it. */
export async function finishRemoval(
  requests: Requests,
  key: string,
  leftovers: readonly Leftover[],
  revision: Revision,
): Promise<void> {
  await clearAway(requests, key, leftovers);
  // Refused if a thread has been created in its place: its document has taken over the list.
  await requests.write(deleteGone(key, revision));
}

function* deletions(key: string, { life, from, to }: Omit<Leftover, "copying">): Generator<BulkItem> {
  for (let seq = from; seq <= to; seq++) yield deleteRecord(key, life, seq);
}
