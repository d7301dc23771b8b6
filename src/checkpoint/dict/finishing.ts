import { inParallel } from "../../internal/concurrency.ts";
import type { Documents } from "./documents.ts";
import { bodyKey, lastOfPage, type Placed, pageKey, pageOf } from "./layout.ts";
import {
  finishedThread,
  type Leftover,
  type PageContent,
  type Part,
  type StoredThread,
  type ThreadDocument,
} from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

/**
 * Carrying out what a document says is still to be done. All of it may be done
 * twice, by two processes at once, or late: what is written has one content for
 * ever, and what is deleted never counts again.
 */

export const isFinished = ({ thread, leftovers }: ThreadDocument): boolean =>
  leftovers.length === 0 &&
  (thread === undefined || (thread.toWrite.length + thread.toDelete.length === 0 && thread.swept === thread.floor));

/** Leaves `copying` alone: only a change of the document can stop a copy from finishing. */
export async function finish(documents: Documents, { threadId, thread, leftovers }: ThreadDocument): Promise<void> {
  if (thread !== undefined) {
    await inParallel(thread.toWrite, (part) => documents.writePart(threadId, part));
    await inParallel(thread.toDelete, (key) => documents.deleteKey(key));
    if (thread.swept < thread.floor) await sweepPages(documents, thread, thread.floor);
  }
  for (const leftover of leftovers) await sweepAll(documents, leftover);
}

/** The document after `finish`. */
const finishedDocument = ({ thread, ...document }: ThreadDocument): ThreadDocument => ({
  ...document,
  revision: document.revision + 1,
  ...(thread !== undefined && { thread: finishedThread(thread) }),
  leftovers: [],
});

/** Settles a document that was just written, and writes that down unless somebody else changed it meanwhile. */
export async function finishNow(documents: Documents, threadId: string): Promise<void> {
  const found = await documents.load(threadId);
  const { document } = found;
  if (document === undefined || isFinished(document)) return;
  await finish(documents, document);
  if (await documents.commit(found, finishedDocument(document))) return;
  await discardOutdated(documents, threadId, document.thread, document.thread?.toWrite ?? []);
}

/**
 * After a lost race: parts that were written and that the newest document does
 * not count any more would stay for ever. `thread` is what they were written for.
 */
export async function discardOutdated(
  documents: Documents,
  threadId: string,
  thread: StoredThread | undefined,
  written: readonly Part[],
): Promise<void> {
  if (thread === undefined || written.length === 0) return;
  await documents.attempt(threadId, async ({ document }) => {
    const isThis = ({ incarnation }: Leftover): boolean => incarnation === thread.incarnation;
    const now = document?.thread !== undefined && isThis(document.thread) ? document.thread : undefined;
    const isBeingSwept = document?.leftovers.some(isThis) ?? false;
    for (const part of written) {
      const staysForSweep = isBeingSwept && "page" in part.content;
      if (!staysForSweep && !(now && (await counts(documents, now, part)))) await documents.deleteKey(part.key);
    }
    if (isBeingSwept) await finishNow(documents, threadId);
  });
}

async function counts(documents: Documents, thread: StoredThread, { key, content }: Part): Promise<boolean> {
  if ("page" in content) return pageKey(thread, content.page) === key && lastOfPage(content.page) >= thread.swept;
  const entry = await new ThreadReader(documents, thread).entryAt(content.seq);
  return entry !== undefined && bodyKey(thread, entry) === key;
}

/** Every key of a thread that is no more. */
async function sweepAll(documents: Documents, leftover: Leftover): Promise<void> {
  const { tail, recent } = leftover;
  await sweepPages(documents, leftover, tail.seq + 1);
  await inParallel([...recent, tail], (placed) => documents.deleteKey(bodyKey(leftover, placed)));
  // An append that was overtaken may have filled the last page.
  await documents.deleteKey(pageKey(leftover, pageOf(tail.seq)));
}

/** The bodies and pages below `end`, as far as they are on full pages. A page goes last: it says what else there is. */
async function sweepPages(documents: Documents, leftover: Leftover, end: number): Promise<void> {
  for (let page = pageOf(leftover.swept); page < pageOf(leftover.tail.seq) && page <= pageOf(end - 1); page++) {
    const key = pageKey(leftover, page);
    const entries = await placesOn(documents, key);
    const gone = entries.filter(({ seq }) => seq >= leftover.swept && seq < end);
    await inParallel(gone, (placed) => documents.deleteKey(bodyKey(leftover, placed)));
    if (lastOfPage(page) < end) await documents.deleteKey(key);
  }
}

/** None where an earlier sweep took the page already. */
async function placesOn(documents: Documents, key: string): Promise<readonly Placed[]> {
  const content = (await documents.readPart(key)) as PageContent | undefined;
  return content?.entries ?? [];
}
