import { firstRecordOf, numberName, pageName, threadName } from "./layout.ts";
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
  const folder = store.layout.folder(name);
  for await (const found of store.bucket.list({ prefix: folder })) {
    if (found.length === 0) continue;
    const { document } = await store.loadNamed(name);
    const lives = [document?.thread?.life, ...(document?.copying ?? [])];
    const isOver = (object: string): boolean => !lives.includes(object.slice(folder.length).split("/")[0]);
    await store.deleteObjects(found.filter(isOver));
  }
}

/** After a lost race: parts that were written and that the newest document does not count would stay for ever. */
export async function discardOutdated(store: ThreadStore, life: Life, written: readonly Part[]): Promise<void> {
  if (written.length === 0) return;
  const { document } = await store.load(life.threadId);
  const thread = document?.thread?.life === life.life ? document.thread : undefined;
  for (const { name } of written) {
    if (thread === undefined || !(await counts(store, life, thread, name))) await store.deleteParts(life, [name]);
  }
}

async function counts(store: ThreadStore, { threadId }: Life, thread: StoredThread, part: string): Promise<boolean> {
  if (part.endsWith(".page")) return thread.pages.some((page) => pageName(page) === part);
  const suffix = /-(\w+)\./.exec(part)?.[1] ?? "";
  const body = (await new ThreadReader(store, threadId, thread).storedAt(firstRecordOf(part)))?.body;
  return body !== undefined && body.inline === undefined && body.suffix === suffix;
}
