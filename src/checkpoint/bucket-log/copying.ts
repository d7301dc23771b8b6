import { inParallel } from "../../internal/concurrency.ts";
import { announce, finishCommitted } from "./appending.ts";
import { sweepOther } from "./finishing.ts";
import { bodyName, newRandomName, pageName } from "./layout.ts";
import type { StoredRecord } from "./stored-object.ts";
import { documentOf, isFinished, type OtherLife, type StoredThread } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import {
  type FoundDocument,
  type Life,
  NOTHING,
  OVERTAKEN,
  type ThreadStore,
  untilNotOvertaken,
} from "./thread-store.ts";

type CopyOutcome = "copied" | "no source" | "target exists";

/**
 * Copies a thread. A copy with objects of its own is announced in the target's
 * document before any of them is written, so that the objects of an unfinished
 * copy can be found. It becomes the thread by one more write of the document, if
 * it is still announced and no other thread was created meanwhile.
 */
export function copyThread(
  store: ThreadStore,
  source: string,
  target: string,
  generation: string,
): Promise<CopyOutcome> {
  return untilNotOvertaken<CopyOutcome>(
    () => store.load(source),
    async ({ document }) => {
      if (document?.thread === undefined) return "no source";
      const { thread } = document;
      const life = { threadId: target, life: newRandomName() };
      if (isWithinDocument(thread)) {
        return becomeThread(store, NOTHING, life, { ...thread, life: life.life, generation });
      }
      const parts = store.lists ? undefined : await partsOfCopy(new ThreadReader(store, source, thread), thread);
      const own: OtherLife = { life: life.life, ...(parts !== undefined && { parts }) };
      const announced = await announceCopy(store, target, own, generation);
      if (typeof announced === "string") return announced;
      try {
        const copy = { ...(await copyParts(store, source, thread, life)), generation };
        // The source may have been deleted while it was read: then nothing of it may come back under another name.
        const isThere = (await store.load(source)).document?.thread?.life === thread.life;
        const outcome = isThere ? await becomeThread(store, announced, life, copy) : OVERTAKEN;
        if (outcome === "copied") return outcome;
        await withdraw(store, target, own);
        return outcome;
      } catch (error) {
        await withdraw(store, target, own).catch(() => undefined);
        throw error;
      }
    },
  );
}

/** Whether a thread consists of its document alone. */
const isWithinDocument = (thread: StoredThread): boolean =>
  isFinished({ thread, over: [] }) &&
  thread.pages.length + thread.stale.length + thread.pending.length === 0 &&
  thread.recent.every(({ body }) => body.inline !== undefined);

/** What `copyParts` will write, for a bucket in which it could not be found. */
async function partsOfCopy(reader: ThreadReader, { pages, recent }: StoredThread): Promise<readonly string[]> {
  const records = [...(await inParallel(pages, (page) => reader.onPage(page))).flat(), ...recent];
  const apart = records.filter(({ body }) => body.inline === undefined);
  const names = pages.map(({ first }) => pageName({ first, suffix: "" }));
  return [...names, ...apart.map(({ entry }) => bodyName(entry.seq, ""))];
}

function announceCopy(
  store: ThreadStore,
  threadId: string,
  other: OtherLife,
  generation: string,
): Promise<FoundDocument | "copied" | "target exists"> {
  return untilNotOvertaken<FoundDocument | "copied" | "target exists">(
    () => store.load(threadId),
    async (found) => {
      const { document } = found;
      if (document?.thread !== undefined) return outcomeAt(document.thread, generation);
      return (await announce(store, found, threadId, other)) ?? OVERTAKEN;
    },
  );
}

/** The same generation: an earlier attempt at this very copy, whose answer was lost. */
const outcomeAt = (thread: StoredThread, generation: string): "copied" | "target exists" =>
  thread.generation === generation ? "copied" : "target exists";

/**
 * Written again rather than copied by the storage: each object says whose it is,
 * and a storage's own copy takes its own time.
 */
async function copyParts(store: ThreadStore, source: string, thread: StoredThread, life: Life): Promise<StoredThread> {
  const reader = new ThreadReader(store, source, thread);
  const copied = async (record: StoredRecord): Promise<StoredRecord> => {
    const { entry, body } = record;
    if (body.inline !== undefined) return record;
    const part = store.bodyPart(life, entry.seq, "", await reader.bodyOf(record));
    await store.writePart(life, part);
    return { entry, body: { ...part.place, inline: undefined } };
  };
  const pages = await inParallel(thread.pages, async (page) => {
    const [first, ...rest] = await reader.onPage(page);
    if (first === undefined) return page;
    const records: [StoredRecord, ...StoredRecord[]] = [await copied(first)];
    for (const record of rest) records.push(await copied(record));
    const part = store.pagePart(life, "", records);
    await store.writePart(life, part);
    return part.page;
  });
  return {
    ...thread,
    life: life.life,
    swept: thread.floor,
    pages,
    recent: await inParallel(thread.recent, copied),
    toDelete: [],
    stale: [],
    pending: [],
  };
}

/** Overtaken if another process gave the announced copy up. `known` is what is believed to be there. */
function becomeThread(
  store: ThreadStore,
  known: FoundDocument,
  { threadId, life }: Life,
  copy: StoredThread,
): Promise<"copied" | "target exists" | typeof OVERTAKEN> {
  const mustBeAnnounced = known.document !== undefined;
  let expected: FoundDocument | undefined = known;
  const load = async (): Promise<FoundDocument> => {
    const found = expected ?? (await store.load(threadId));
    expected = undefined;
    return found;
  };
  return untilNotOvertaken<"copied" | "target exists" | { readonly givenUp: true }>(load, async (found) => {
    const { document } = found;
    if (document?.thread !== undefined) return outcomeAt(document.thread, copy.generation);
    const { copying = [], over = [] } = document ?? {};
    const others = copying.filter((other) => other.life !== life);
    if (mustBeAnnounced && others.length === copying.length) return { givenUp: true };
    const committed = await store.commit(found, documentOf(threadId, { thread: copy, over: [...over, ...others] }));
    if (committed === undefined) return OVERTAKEN;
    await finishCommitted(store, threadId, committed);
    return "copied";
  }).then((outcome) => (typeof outcome === "string" ? outcome : OVERTAKEN));
}

/** Takes back a copy that must not appear. Until its objects are gone, the document leads to them. */
async function withdraw(store: ThreadStore, threadId: string, own: OtherLife): Promise<void> {
  const isOwn = ({ life }: OtherLife): boolean => life === own.life;
  const isThread = await untilNotOvertaken<boolean>(
    () => store.load(threadId),
    async (found) => {
      const { document } = found;
      if (document?.thread !== undefined && isOwn(document.thread)) return true;
      if (document === undefined || !document.copying.some(isOwn)) return false;
      const copying = document.copying.filter((other) => !isOwn(other));
      const next = documentOf(threadId, { ...document, copying, over: [...document.over, own] });
      return (await store.commit(found, next)) === undefined ? OVERTAKEN : false;
    },
  );
  if (isThread) return;
  await sweepOther(store, threadId, own);
  const found = await store.load(threadId);
  const { thread, copying = [], over = [] } = found.document ?? {};
  if (thread === undefined && copying.length === 0 && over.every(isOwn)) await store.discard(threadId, found);
}
