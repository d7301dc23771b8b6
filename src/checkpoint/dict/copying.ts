import { newId } from "../../driver/ids.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { type Documents, OVERTAKEN } from "./documents.ts";
import { finishNow } from "./finishing.ts";
import { pageKey, pageOf } from "./layout.ts";
import {
  bodyPart,
  emptyDocument,
  finishedThread,
  type Leftover,
  leftoverOf,
  type Part,
  type StoredEntry,
  type StoredThread,
} from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

type CopyOutcome = "copied" | "target exists" | typeof OVERTAKEN;

/**
 * Copies a thread to `target`. The copy is announced in the target's document
 * before any of its keys is written, so that the keys of an unfinished copy can
 * be found. It becomes the thread by one more write of the document, if it is
 * still announced and no other thread was created meanwhile.
 */
export async function copyThread(
  documents: Documents,
  source: StoredThread,
  target: string,
  generation: string,
): Promise<CopyOutcome> {
  const copy: StoredThread = { ...finishedThread(source), incarnation: newId(), generation };
  const refused = await announce(documents, target, copy);
  if (refused !== undefined) return refused;
  const written: string[] = [];
  try {
    await copyParts(documents, source, target, copy, written);
    if (await becomeThread(documents, target, copy)) return "copied";
  } catch (error) {
    await withdraw(documents, target, copy);
    throw error;
  }
  await inParallel(written, (key) => documents.deleteKey(key));
  return OVERTAKEN;
}

function announce(documents: Documents, target: string, copy: StoredThread): Promise<CopyOutcome | undefined> {
  return documents.attempt(target, async (found) => {
    const document = found.document ?? emptyDocument(target);
    // The same generation: an earlier attempt at this very copy, whose answer was lost.
    if (document.thread !== undefined)
      return document.thread.generation === copy.generation ? "copied" : "target exists";
    const copying = [...document.copying, leftoverOf(copy)];
    const announced = await documents.commit(found, { ...document, revision: document.revision + 1, copying });
    return announced ? undefined : OVERTAKEN;
  });
}

/** Page by page, each before its bodies, so that a later deletion finds them. */
async function copyParts(
  documents: Documents,
  source: StoredThread,
  target: string,
  copy: StoredThread,
  written: string[],
): Promise<void> {
  const reader = new ThreadReader(documents, source);
  const write = async (part: Part): Promise<void> => {
    written.push(part.key);
    await documents.writePart(target, part);
  };
  const writeBody = async (entry: StoredEntry): Promise<void> =>
    write(bodyPart(copy, entry, await reader.bodyOf(entry)));
  for (let page = pageOf(copy.floor); page < pageOf(copy.tail.seq); page++) {
    const entries = await reader.entriesOn(page);
    await write({ key: pageKey(copy, page), content: { page, entries } });
    await inParallel(entries, writeBody);
  }
  await inParallel(copy.recent, writeBody);
}

/** False if a thread was created meanwhile, or somebody gave the copy up. */
function becomeThread(documents: Documents, target: string, copy: StoredThread): Promise<boolean> {
  return documents.attempt(target, async (found) => {
    const { document } = found;
    if (document === undefined || document.thread !== undefined || !document.copying.some(isOf(copy))) return false;
    const others = document.copying.filter((other) => !isOf(copy)(other));
    const next = {
      ...document,
      revision: document.revision + 1,
      thread: copy,
      copying: [],
      leftovers: [...document.leftovers, ...others],
    };
    if (!(await documents.commit(found, next))) return OVERTAKEN;
    // The copy is complete, even if this fails; then the next write of the thread does it.
    await finishNow(documents, target).catch(() => undefined);
    return true;
  });
}

/** Deletes the keys of a failed copy. If the storage fails again, the announcement stays and a later write does it. */
async function withdraw(documents: Documents, target: string, copy: StoredThread): Promise<void> {
  const withdrawn = documents.attempt(target, async (found) => {
    const { document } = found;
    const own = document?.copying.find(isOf(copy));
    if (document === undefined || own === undefined) return;
    const copying = document.copying.filter((other) => other !== own);
    const leftovers = [...document.leftovers, own];
    const next = { ...document, revision: document.revision + 1, copying, leftovers };
    if (!(await documents.commit(found, next))) return OVERTAKEN;
    await finishNow(documents, target);
  });
  await withdrawn.catch(() => undefined);
}

const isOf =
  ({ incarnation }: StoredThread) =>
  (leftover: Leftover): boolean =>
    leftover.incarnation === incarnation;
