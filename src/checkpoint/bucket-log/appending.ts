import { inParallel } from "../../internal/concurrency.ts";
import { isExpected } from "../log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../log/thread-log.ts";
import { discardOutdated, finish, finishedDocument } from "./finishing.ts";
import { planAppend, planFirst } from "./plan-append.ts";
import { documentOf, isFinished, type OtherLife, placedTail, type StoredThread } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import {
  type FoundDocument,
  type Life,
  NOTHING,
  namesOf,
  OVERTAKEN,
  type Part,
  type ThreadStore,
  untilNotOvertaken,
} from "./thread-store.ts";

/**
 * First finish what an earlier change left undone, then write what this one pushes
 * out of the document, then write the document, which commits.
 */
export function append(store: ThreadStore, threadId: string, request: AppendRequest): Promise<AppendOutcome> {
  let expected = expectedDocument(store, threadId, request);
  const load = async (): Promise<FoundDocument> => {
    const found = expected ?? (await store.load(threadId));
    expected = undefined;
    return found;
  };
  return untilNotOvertaken(load, (found) => appendTo(store, threadId, found, request));
}

/**
 * What the caller believes to be there, if this process knows it without asking.
 * If that is wrong, the commit is refused, and reading the document says why.
 */
function expectedDocument(store: ThreadStore, threadId: string, request: AppendRequest): FoundDocument | undefined {
  const written = store.takeWritten(threadId);
  if (request.expected.seq === 0) return NOTHING;
  return isExpected(placedTail(written?.document?.thread), request.expected) ? written : undefined;
}

async function appendTo(
  store: ThreadStore,
  threadId: string,
  found: FoundDocument,
  request: AppendRequest,
): Promise<AppendOutcome | typeof OVERTAKEN> {
  const { document } = found;
  const thread = document?.thread;
  if (!isExpected(placedTail(thread), request.expected)) return refusal(store, threadId, thread, request);
  const { parts, next } =
    thread === undefined
      ? await planFirst(store, threadId, request)
      : await planAppend(store, { threadId, life: thread.life }, thread, request);
  if (document !== undefined && !isFinished(document)) await finish(store, document);
  const life = { threadId, life: next.life };
  const announced = parts.length > 0 ? await announceParts(store, found, life, parts) : found;
  if (announced === undefined) return OVERTAKEN;
  await inParallel(parts, (part) => store.writePart(life, part));
  const committed = await store.commit(
    announced,
    documentOf(threadId, { thread: next, over: document?.copying ?? [] }),
  );
  if (committed === undefined) {
    // In any case nothing was appended, and what is left lies where a deletion of the thread finds it.
    await discardOutdated(store, life, parts).catch(() => undefined);
    return OVERTAKEN;
  }
  await finishCommitted(store, threadId, committed);
  return { appended: true };
}

/** Leads to what is about to be written, if it never counts: a life that is not the thread yet, and parts that no list would find. */
async function announceParts(
  store: ThreadStore,
  found: FoundDocument,
  { threadId, life }: Life,
  parts: readonly Part[],
): Promise<FoundDocument | undefined> {
  const { document } = found;
  const thread = document?.thread;
  if (thread === undefined) return announce(store, found, threadId, { life });
  if (store.lists) return found;
  const pending = [...new Set([...thread.pending, ...parts.flatMap(namesOf)])];
  return store.commit(found, documentOf(threadId, { ...document, thread: { ...thread, pending } }));
}

/** A life whose objects are written before it is the thread: the document leads to them if that never comes to be. */
export function announce(
  store: ThreadStore,
  found: FoundDocument,
  threadId: string,
  { life, parts }: OtherLife,
): Promise<FoundDocument | undefined> {
  const { copying = [], over = [] } = found.document ?? {};
  const next = { thread: undefined, copying: [...copying, { life, ...(parts !== undefined && { parts }) }], over };
  return store.commit(found, documentOf(threadId, next));
}

/** The commit is made, even if the cleaning up fails; then the next one does it. */
export async function finishCommitted(store: ThreadStore, threadId: string, committed: FoundDocument): Promise<void> {
  const { document } = committed;
  if (document === undefined || isFinished(document)) return store.remember(threadId, committed);
  try {
    await finish(store, document);
    store.remember(threadId, { ...committed, document: finishedDocument(document) });
  } catch {
    store.remember(threadId, committed);
  }
}

async function refusal(
  store: ThreadStore,
  threadId: string,
  thread: StoredThread | undefined,
  { expected }: AppendRequest,
): Promise<AppendOutcome> {
  if (thread === undefined) return { appended: false, tail: undefined, generation: undefined, occupant: undefined };
  const reader = new ThreadReader(store, threadId, thread);
  const occupant = thread.generation === expected.generation ? await reader.entryAt(expected.seq + 1) : undefined;
  return { appended: false, tail: reader.tail, generation: thread.generation, occupant };
}
