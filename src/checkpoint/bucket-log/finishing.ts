import { inParallel } from "../../internal/concurrency.ts";
import {
  firstRecordOf,
  isList,
  isThreadName,
  numberName,
  pageName,
  partOfPiece,
  piecesOf,
  threadName,
} from "./layout.ts";
import { finishedThread, isUnswept, type StoredThread, type ThreadDocument } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import type { Life, Part, ThreadStore } from "./thread-store.ts";

/**
 * Deleting what no longer counts. All of it may be done twice, by two processes
 * at once, or late: what is deleted here never counts again.
 */

/** Carries out what a document says is to be deleted. Leaves `copying` alone: those are under way. */
export async function finish(store: ThreadStore, { threadId, thread, over }: ThreadDocument): Promise<void> {
  if (thread !== undefined) {
    const life = { threadId, life: thread.life };
    const lists = thread.toDelete.filter((name) => isList(partOfPiece(name)));
    if (lists.length > 0) await store.deleteParts(life, await store.listedIn(life, lists));
    await store.deleteParts(life, thread.toDelete);
    if (isUnswept(thread)) await sweepLife(store, life, thread.floor);
  }
  for (const life of over) await sweepLife(store, { threadId, life });
}

/** The document after `finish`. In storage it is written with the next commit. */
export const finishedDocument = ({ thread, ...document }: ThreadDocument): ThreadDocument => ({
  ...document,
  thread: thread && finishedThread(thread),
  over: [],
});

/** Deletes everything in a life, or what belongs to records below a position. */
export async function sweepLife(store: ThreadStore, life: Life, below?: number): Promise<void> {
  const prefix = store.layout.life(threadName(life.threadId), life.life);
  const end = below === undefined ? {} : { end: `${prefix}${numberName(below)}` };
  for await (const names of store.bucket.list({ prefix, ...end })) {
    await store.deleteParts(
      life,
      names.map((name) => name.slice(prefix.length)),
    );
  }
}

/**
 * Deletes whatever lies in a thread's folder and that its document does not
 * speak of, also what a process left that died or came too late. The order is
 * what makes it safe: see rule 5 of the layout.
 */
export async function sweepFolder(store: ThreadStore, name: string): Promise<void> {
  for await (const found of store.bucket.list({ prefix: store.layout.folder(name) })) {
    if (found.length > 0) await deleteEnded(store, name, found);
  }
}

/** Of objects in a thread's folder, those of lives that its document does not speak of. The document is read now, after they were found. */
async function deleteEnded(store: ThreadStore, name: string, found: readonly string[]): Promise<void> {
  const { document } = await store.loadNamed(name);
  const lives = [document?.thread?.life, ...(document?.copying ?? [])];
  const { length } = store.layout.folder(name);
  await store.deleteObjects(found.filter((object) => !lives.includes(object.slice(length).split("/")[0])));
}

/**
 * Goes through the whole prefix: first the folders, whose objects may no longer
 * belong to any document; then the documents that only list what is to be
 * deleted. Announced copies are left alone, because they may be under way.
 */
export async function removeLeftovers(store: ThreadStore): Promise<void> {
  const { records, documents } = store.layout;
  for await (const found of store.bucket.list({ prefix: records })) {
    const byThread = new Map<string, string[]>();
    for (const object of found) {
      const name = object.slice(records.length).split("/")[0] ?? "";
      const objects = byThread.get(name);
      if (objects === undefined) byThread.set(name, [object]);
      else objects.push(object);
    }
    for (const [name, objects] of byThread) if (isThreadName(name)) await deleteEnded(store, name, objects);
  }
  for await (const objects of store.bucket.list({ prefix: documents })) {
    const names = objects.map((object) => object.slice(documents.length)).filter(isThreadName);
    await inParallel(names, (name) => discardEmpty(store, name));
  }
}

async function discardEmpty(store: ThreadStore, name: string): Promise<void> {
  const found = await store.loadNamed(name);
  const { document } = found;
  if (document === undefined || document.thread !== undefined || document.copying.length > 0) return;
  await sweepFolder(store, name);
  await store.discard(document.threadId, found);
}

/** After a lost race: parts that were written and that the newest document does not count would stay for ever. */
export async function discardOutdated(store: ThreadStore, life: Life, written: readonly Part[]): Promise<void> {
  if (written.length === 0) return;
  const { document } = await store.load(life.threadId);
  const thread = document?.thread?.life === life.life ? document.thread : undefined;
  for (const { name, pieces } of written) {
    if (thread !== undefined && (await counts(store, life, thread, name))) continue;
    await store.deleteParts(life, piecesOf(name, pieces.length));
  }
}

async function counts(store: ThreadStore, { threadId }: Life, thread: StoredThread, name: string): Promise<boolean> {
  const part = partOfPiece(name);
  if (isList(part)) return thread.toDelete.includes(name);
  if (part.endsWith(".page")) return thread.pages.some((page) => pageName(page) === part);
  const suffix = /-(\w+)\./.exec(part)?.[1] ?? "";
  const body = (await new ThreadReader(store, threadId, thread).storedAt(firstRecordOf(part)))?.body;
  return body !== undefined && body.inline === undefined && body.suffix === suffix;
}
