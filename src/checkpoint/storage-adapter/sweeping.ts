import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/in-parallel.ts";
import { type Documents, type FoundDocument, OVERTAKEN } from "./documents.ts";
import { bodyKey, pageKey, pageOf } from "./layout.ts";
import { isSettled, settleNow } from "./settling.ts";
import type { Leftover, StoredThread } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

/**
 * Finding keys that nobody counts. A process that slept may write a body after
 * its thread was deleted, and die before it takes that back; a removal may die
 * halfway. Such keys hold text that people believe deleted.
 *
 * Why it is safe beside writers: keys are listed first and documents are read
 * afterwards. A key is only written while a document counts it, and what a
 * document has ceased to count, none counts again (layout.ts). Which document
 * that is the part itself says, so that a list which lags behind harms nothing.
 */
export async function sweepOrphans(documents: Documents): Promise<void> {
  for (const [incarnation, keys] of await documents.partKeys()) {
    try {
      await sweepIncarnation(documents, incarnation, keys);
    } catch (error) {
      // What is damaged is left for whoever loads it to hear of, and is not in the way of the others.
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

/** A thread that is written all the time need not settle while we look. The next sweep looks again. */
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
    if (!isSettled(document)) {
      await settleNow(documents, threadId);
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

/** Those that the thread counts, and those that its next append writes before it commits. */
async function keysOf(documents: Documents, thread: StoredThread): Promise<ReadonlySet<string>> {
  const { tail, floor } = thread;
  const keys = new Set<string>();
  for (const entry of await new ThreadReader(documents, thread).entriesFrom(floor)) keys.add(bodyKey(thread, entry));
  for (let page = pageOf(floor); page <= pageOf(tail.seq); page++) keys.add(pageKey(thread, page));
  return keys;
}

/**
 * A copy that is announced may be under way. One that has not got any further
 * since the last sweep is given up: should it still live, it starts again.
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
