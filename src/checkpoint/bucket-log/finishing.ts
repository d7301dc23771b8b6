import { StateError } from "../../errors.ts";
import { inParallel } from "../../internal/concurrency.ts";
import {
  bodyName,
  firstRecordOf,
  isList,
  isPage,
  namedAfter,
  numberName,
  pageName,
  partOfPiece,
  suffixOf,
} from "./layout.ts";
import {
  documentOf,
  finishedThread,
  isUnswept,
  type OtherLife,
  type StoredThread,
  type ThreadDocument,
  tailOf,
} from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import {
  type FoundDocument,
  type Life,
  namesOf,
  type Part,
  type ThreadStore,
  untilNotOvertaken,
} from "./thread-store.ts";

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
  for (const other of over) await sweepOther(store, threadId, other);
}

/** The document after `finish`. In storage it is written with the next commit. */
export const finishedDocument = ({ thread, ...document }: ThreadDocument): ThreadDocument => ({
  ...document,
  thread: thread && finishedThread(thread),
  over: [],
});

/** Deletes everything in a life that has ended. */
export function sweepOther(store: ThreadStore, threadId: string, { life, parts = [] }: OtherLife): Promise<void> {
  return store.lists ? sweepLife(store, { threadId, life }) : store.deleteParts({ threadId, life }, parts);
}

/** Deletes everything in a life, or what belongs to records below a position. */
async function sweepLife(store: ThreadStore, life: Life, below?: number): Promise<void> {
  for await (const names of partsIn(store, life, below)) await store.deleteParts(life, names);
}

async function* partsIn(store: ThreadStore, { threadId, life }: Life, below?: number): AsyncGenerator<string[]> {
  const prefix = store.layout.life(store.layout.nameOf(threadId), life);
  const end = below === undefined ? {} : { end: `${prefix}${numberName(below)}` };
  for await (const names of store.bucket.list({ prefix, ...end })) yield names.map((name) => name.slice(prefix.length));
}

/**
 * Deletes what is left of a thread that is not there, also what a process left that
 * died or came too late, as far as the bucket can be searched. The order is what makes it safe: see rule 5 of the layout.
 */
export async function sweepRemains(store: ThreadStore, name: string, document?: ThreadDocument): Promise<void> {
  if (!store.lists) {
    for (const other of document?.over ?? []) await sweepOther(store, document?.threadId ?? "", other);
    return;
  }
  for await (const found of store.bucket.list({ prefix: store.layout.folder(name) })) {
    if (found.length > 0) await deleteEnded(store, await store.loadNamed(name), found);
  }
}

/** Of objects in a thread's folder, deletes those of lives that its document, which was read after they were found, does not speak of. */
function deleteEnded(store: ThreadStore, { document }: FoundDocument, found: readonly string[]): Promise<void> {
  const { thread, copying = [] } = document ?? {};
  const lives = [thread?.life, ...copying.map(({ life }) => life)];
  return store.deleteObjects(found.filter((object) => !lives.includes(store.layout.placeOf(object).life)));
}

/**
 * Goes through the whole bucket: first the folders, for objects that no document
 * speaks of; then the documents, for those that only list what is to be
 * deleted, and for copies that do not go on. A damaged thread keeps none from being looked at.
 *
 * A copy that sweeps hold up makes no progress while they run, so sweeps that overlap are one look: each says at its end
 * what it saw of a copy, and what counts as seen earlier was in the document when this one went through the folders.
 */
export async function removeLeftovers(store: ThreadStore): Promise<void> {
  const { layout, bucket, lists } = store;
  if (!lists) return;
  const earlier: EarlierLooks = new Map();
  const underWay: string[] = [];
  for await (const found of bucket.list({ prefix: layout.records })) {
    const byThread = new Map<string, string[]>();
    for (const object of found) {
      const { name } = layout.placeOf(object);
      const objects = byThread.get(name);
      if (objects === undefined) byThread.set(name, [object]);
      else objects.push(object);
    }
    for (const [name, objects] of byThread) {
      if (layout.isName(name)) await unlessDamaged(() => sweepFound(store, name, objects, earlier));
    }
  }
  for await (const objects of bucket.list({ prefix: layout.documents })) {
    const names = objects.map((object) => object.slice(layout.documents.length)).filter((name) => layout.isName(name));
    await inParallel(names, (name) =>
      unlessDamaged(async () => {
        if ((await settle(store, name)) === "under way") underWay.push(name);
      }),
    );
  }
  await inParallel(underWay, (name) => unlessDamaged(() => giveUpIfStill(store, name, earlier)));
}

/**
 * What the documents said of lives under way when their folders were looked at. A life that is not in it had no object
 * then: to give it up takes nothing from it.
 */
type EarlierLooks = Map<string, number | undefined>;

/** A damaged thread is reported to its readers. */
async function unlessDamaged(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!StateError.is(error, "CORRUPT") && !StateError.is(error, "INCOMPATIBLE")) throw error;
  }
}

const sweepFound = (
  store: ThreadStore,
  name: string,
  objects: readonly string[],
  earlier: EarlierLooks,
): Promise<void> =>
  untilNotOvertaken<void>(
    () => store.loadNamed(name),
    async (found) => {
      const { document } = found;
      for (const { life, seen } of document?.copying ?? []) if (!earlier.has(life)) earlier.set(life, seen);
      await deleteEnded(store, found, objects);
      if (document?.thread === undefined) return;
      const prefix = store.layout.life(name, document.thread.life);
      const parts = objects.filter((object) => object.startsWith(prefix)).map((object) => object.slice(prefix.length));
      await sweepUncounted(store, found, { ...document, thread: document.thread }, parts);
    },
  );

/**
 * Deletes parts of a living thread that no document counts: an append that was refused or died wrote them. One that is still
 * under way would commit on the document that was just read. So that document is
 * replaced first, by this or by another writer; every later attempt gives its parts other names, or those that are kept here.
 */
async function sweepUncounted(
  store: ThreadStore,
  found: FoundDocument,
  document: ThreadDocument & { readonly thread: StoredThread },
  parts: readonly string[],
): Promise<void> {
  const { threadId, thread } = document;
  const life = { threadId, life: thread.life };
  const kept = ofNextAppend(thread);
  const orphans: string[] = [];
  for (const part of parts) {
    if (!kept.has(partOfPiece(part)) && !(await counts(store, life, thread, part))) orphans.push(part);
  }
  if (orphans.length === 0) return;
  const replaced = (await store.commit(found, documentOf(threadId, document))) ?? (await store.load(threadId));
  const now = replaced.document?.thread;
  for (const part of orphans) {
    if (now?.life === life.life && (await counts(store, life, now, part))) continue;
    await store.deleteParts(life, [part]);
  }
}

/** What an append to this thread may find written: see rule 4 of the layout. */
function ofNextAppend(thread: StoredThread): ReadonlySet<string> {
  const first = thread.recent[0]?.entry.seq ?? 0;
  const bodies = thread.recent.map(({ entry: { seq, writeId } }) => bodyName(seq, namedAfter(writeId)));
  return new Set([pageName({ first, suffix: namedAfter(tailOf(thread).writeId) }), ...bodies]);
}

/** A document without a thread goes, unless something may become one. */
async function settle(store: ThreadStore, name: string): Promise<"under way" | undefined> {
  const found = await store.loadNamed(name);
  const { document } = found;
  if (document === undefined) return undefined;
  if (document.copying.length > 0) return "under way";
  if (document.thread !== undefined) return undefined;
  await sweepRemains(store, name);
  await store.discard(document.threadId, found);
  return undefined;
}

/** Gives up what came no further since the last sweep. One that was given up though it is alive starts again. */
async function giveUpIfStill(store: ThreadStore, name: string, earlier: EarlierLooks): Promise<void> {
  const found = await store.loadNamed(name);
  const { document } = found;
  if (document === undefined || document.copying.length === 0) return;
  const { threadId, thread, copying, over } = document;
  const going: OtherLife[] = [];
  const still: OtherLife[] = [];
  for (const other of copying) {
    let seen = 0;
    for await (const parts of partsIn(store, { threadId, life: other.life })) seen += parts.length;
    const wasSeen = earlier.has(other.life) ? earlier.get(other.life) : 0;
    if (seen === other.seen && seen === wasSeen) still.push({ life: other.life });
    else going.push({ ...other, seen });
  }
  const next = documentOf(threadId, { thread, copying: going, over: [...over, ...still] });
  const committed = await store.commit(found, next);
  // Another writer was faster: the next sweep looks again.
  if (committed === undefined || still.length === 0) return;
  await finish(store, next);
  if (thread === undefined && going.length === 0) await store.discard(threadId, committed);
}

/**
 * After a lost race: parts that were written and that the newest document does not count would stay. What the next append may
 * find written is left to it: where only a sweep replaced the document, another attempt may be about to count that.
 */
export async function discardOutdated(store: ThreadStore, life: Life, written: readonly Part[]): Promise<void> {
  if (written.length === 0) return;
  const { document } = await store.load(life.threadId);
  const thread = document?.thread?.life === life.life ? document.thread : undefined;
  const kept = thread === undefined ? new Set<string>() : ofNextAppend(thread);
  for (const part of written) {
    const { name } = part;
    if (kept.has(name) || (thread !== undefined && (await counts(store, life, thread, name)))) continue;
    await store.deleteParts(life, namesOf(part));
  }
}

async function counts(store: ThreadStore, { threadId }: Life, thread: StoredThread, name: string): Promise<boolean> {
  const part = partOfPiece(name);
  if (isList(part)) return thread.toDelete.includes(name);
  if (isPage(part)) return thread.pages.some((page) => pageName(page) === part);
  const body = (await new ThreadReader(store, threadId, thread).storedAt(firstRecordOf(part)))?.body;
  return body !== undefined && body.inline === undefined && body.suffix === suffixOf(part);
}
