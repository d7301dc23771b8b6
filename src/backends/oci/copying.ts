import { inParallel } from "../../internal/in-parallel.ts";
import { settleCommitted } from "./appending.ts";
import { newRandomName, pageOf } from "./layout.ts";
import { OVERTAKEN, untilNotOvertaken } from "./overtaken.ts";
import { sweepLife } from "./settling.ts";
import type { StoredRecord } from "./stored-object.ts";
import { documentOf, type StoredThread, tailOf } from "./thread-document.ts";
import { NO_RECORD_LEFT, range, ThreadReader } from "./thread-reader.ts";
import { bodyPart, type Life, pagePart, type ThreadStore } from "./thread-store.ts";

type CopyOutcome = "copied" | "no source" | "target exists";

/**
 * Copies a thread. The copy is announced in the target's document before any of
 * its objects is written, so that those of a copy that never finished are found;
 * it becomes the thread by one more write of the document, if it is still
 * announced and no thread has come meanwhile.
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
      const life = { threadId: target, life: newRandomName() };
      const refused = await announce(store, life, generation);
      if (refused !== undefined) return refused;
      try {
        const copy = { ...(await copyParts(store, source, document.thread, life)), generation };
        // The source may have been deleted while it was read: then nothing of it must come back under another name.
        const now = await store.load(source);
        const isThere = now.document?.thread?.life === document.thread.life;
        if (isThere && (await becomeThread(store, life, copy))) return "copied";
      } catch (error) {
        await withdraw(store, life).catch(() => undefined);
        throw error;
      }
      await withdraw(store, life);
      return OVERTAKEN;
    },
  );
}

function announce(store: ThreadStore, { threadId, life }: Life, generation: string): Promise<CopyOutcome | undefined> {
  return untilNotOvertaken<CopyOutcome | undefined>(
    () => store.load(threadId),
    async (found) => {
      const { document } = found;
      // The same generation: an earlier attempt at this very copy, whose answer was lost.
      if (document?.thread !== undefined) {
        return document.thread.generation === generation ? "copied" : "target exists";
      }
      const copying = [...(document?.copying ?? []), life];
      const next = documentOf(threadId, { thread: undefined, copying, over: document?.over ?? [] });
      return (await store.commit(found, next)) === undefined ? OVERTAKEN : undefined;
    },
  );
}

/** Written anew, not copied by the storage: each object says whose it is, and the storage copies in its own time. */
async function copyParts(store: ThreadStore, source: string, thread: StoredThread, life: Life): Promise<StoredThread> {
  const reader = new ThreadReader(store, source, thread);
  const copied = async (record: StoredRecord): Promise<StoredRecord> => {
    const { entry, body } = record;
    if (body.inline !== undefined) return record;
    await store.writePart(life, bodyPart(life, entry.seq, "", await reader.bodyOf(record)));
    return { entry, body: { ...body, suffix: "" } };
  };
  await inParallel(range(pageOf(thread.floor), pageOf(tailOf(thread).seq) - 1), async (page) => {
    const records: StoredRecord[] = [];
    for (const record of await reader.onPage(page)) records.push(await copied(record));
    if (records.length > 0) await store.writePart(life, pagePart(life, page, "", records));
  });
  const emptyPages = [...thread.changedPages].filter(([, suffix]) => suffix === NO_RECORD_LEFT);
  return {
    ...thread,
    life: life.life,
    swept: thread.floor,
    changedPages: new Map(emptyPages),
    recent: await inParallel(thread.recent, copied),
    toDelete: [],
  };
}

/** False when a thread has come, or when somebody gave the copy up for lost. */
function becomeThread(store: ThreadStore, { threadId, life }: Life, copy: StoredThread): Promise<boolean> {
  return untilNotOvertaken<boolean>(
    () => store.load(threadId),
    async (found) => {
      const { document } = found;
      if (document?.thread?.life === life) return true;
      if (document === undefined || document.thread !== undefined || !document.copying.includes(life)) return false;
      const over = [...document.over, ...document.copying.filter((other) => other !== life)];
      const committed = await store.commit(found, documentOf(threadId, { thread: copy, over }));
      if (committed === undefined) return OVERTAKEN;
      await settleCommitted(store, threadId, committed);
      return true;
    },
  );
}

/** Takes a copy back that must not appear. Until its objects are gone, the document leads to them. */
async function withdraw(store: ThreadStore, life: Life): Promise<void> {
  const { threadId } = life;
  const isThread = await untilNotOvertaken<boolean>(
    () => store.load(threadId),
    async (found) => {
      const { document } = found;
      if (document?.thread?.life === life.life) return true;
      if (document === undefined || !document.copying.includes(life.life)) return false;
      const copying = document.copying.filter((other) => other !== life.life);
      const next = documentOf(threadId, { ...document, copying, over: [...document.over, life.life] });
      return (await store.commit(found, next)) === undefined ? OVERTAKEN : false;
    },
  );
  if (isThread) return;
  await sweepLife(store, life);
  const found = await store.load(threadId);
  const { thread, copying = [], over = [] } = found.document ?? {};
  const saysNothing = thread === undefined && copying.length === 0 && over.every((other) => other === life.life);
  if (saysNothing) await store.discard(threadId, found);
}
