import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { type Documents, type FoundDocument, OVERTAKEN } from "./documents.ts";
import { finishNow, isFinished } from "./finishing.ts";
import { bodyKey, pageKey, pageOf } from "./layout.ts";
import type { Leftover, StoredThread } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

/**
 * Finds keys that nobody counts. A process that slept may write a body after its
 * thread was deleted, and die before it takes that back; a removal may die
 * halfway. Such keys contain text that people believe deleted.
 *
 * Why it is safe beside writers: keys are listed first and documents are read
 * afterwards. A key is only written while a document counts it, and once a
 * document stops counting it, no document counts it again (layout.ts). The part
 * itself names its document, so a list that lags behind does no harm.
 */
export async function sweepOrphans(documents: Documents): Promise<void> {
  for (const [incarnation, keys] of await documents.partKeys()) {
    try {
      await sweepIncarnation(documents, incarnation, keys);
    } catch (error) {
      // A damaged thread is reported to whoever loads it, and does not block the others.
      if (!StateError.is(error, "CORRUPT") && !StateError.is(error, "INCOMPATIBLE")) throw error;
    }
  }
}

/** What is left of a thread that was just removed, whoever wrote it and whenever. */
export async function sweepRemoved(documents: Documents, incarnations: readonly string[]): Promise<void> {
  for (const incarnation of incarnations) {
    const left = await documents.partKeysOf(incarnation);
    await inParallel(left, (key) => documents.deleteKey(key));
  }
}

async function sweepIncarnation(documents: Documents, incarnation: string, keys: readonly string[]): Promise<void> {
  const owner = await documents.ownerOf(keys);
  if (owner === undefined) return;
  const threadId = await documents.attemptAt(owner, async ({ document }) => document?.threadId);
  const orphans =
    threadId === undefined
      ? keys
      : await documents.exclusively(threadId, () => orphansOf(documents, threadId, incarnation, keys));
  await inParallel(orphans, (key) => documents.deleteKey(key));
}

/** A thread that is written all the time need not come to rest while we look. The next sweep looks again. */
const MOST_LOOKS = 5;

function orphansOf(
  documents: Documents,
  threadId: string,
  incarnation: string,
  keys: readonly string[],
): Promise<readonly string[]> {
  const isIt = (other: { readonly incarnation: string }): boolean => other.incarnation === incarnation;
  let looks = 0;
  return documents.attempt(threadId, async (found) => {
    const { document } = found;
    if (document === undefined) return keys;
    if (++looks > MOST_LOOKS) return [];
    if (!isFinished(document)) {
      await finishNow(documents, threadId);
      return OVERTAKEN;
    }
    const { thread, copying } = document;
    if (thread !== undefined && isIt(thread)) {
      const counted = await keysOf(documents, thread);
      return keys.filter((key) => !counted.has(key));
    }
    const copy = copying.find(isIt);
    return copy === undefined ? keys : giveUpIfStill(documents, found, copy, keys.length);
  });
}

/** The keys that the thread counts, and those that its next append writes before it commits. */
async function keysOf(documents: Documents, thread: StoredThread): Promise<ReadonlySet<string>> {
  const { tail, floor } = thread;
  const keys = new Set<string>();
  for (const entry of await new ThreadReader(documents, thread).entriesFrom(floor)) keys.add(bodyKey(thread, entry));
  for (let page = pageOf(floor); page <= pageOf(tail.seq); page++) keys.add(pageKey(thread, page));
  return keys;
}

/**
 * An announced copy may be under way. One that made no progress since the last
 * sweep is given up; if it is still alive, it starts again.
 */
async function giveUpIfStill(
  documents: Documents,
  found: FoundDocument,
  copy: Leftover,
  written: number,
): Promise<readonly string[] | typeof OVERTAKEN> {
  const { document } = found;
  if (document === undefined) return OVERTAKEN;
  const others = document.copying.filter((other) => other !== copy);
  const next =
    copy.seen === written
      ? { ...document, copying: others, leftovers: [...document.leftovers, copy] }
      : { ...document, copying: [...others, { ...copy, seen: written }] };
  if (!(await documents.commit(found, { ...next, revision: document.revision + 1 }))) return OVERTAKEN;
  return copy.seen === written ? OVERTAKEN : [];
}
