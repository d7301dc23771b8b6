import { inParallel } from "../../internal/concurrency.ts";
import { isExpected } from "../log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../log/thread-log.ts";
import { type Documents, OVERTAKEN } from "./documents.ts";
import { discardOutdated, finish, finishNow, isFinished } from "./finishing.ts";
import { planAppend, planFirst } from "./plan-append.ts";
import { emptyDocument, entryOf, placedTail, type StoredThread, type ThreadDocument } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";

/**
 * First finish what an earlier change left undone, then write what this one pushes
 * out of the document, then write the document, which commits.
 */
export function append(documents: Documents, threadId: string, request: AppendRequest): Promise<AppendOutcome> {
  return documents.attempt(threadId, async (found) => {
    const document = found.document ?? emptyDocument(threadId);
    const { thread } = document;
    if (!isExpected(placedTail(thread), request.expected)) return refusal(documents, thread, request);
    const { pushedOut, next } =
      thread === undefined ? planFirst(request) : await planAppend(documents, thread, request);
    await finish(documents, document);
    await inParallel(pushedOut, (part) => documents.writePart(threadId, part));
    const appended: ThreadDocument = {
      threadId,
      revision: document.revision + 1,
      thread: next,
      copying: [],
      leftovers: document.copying,
    };
    if (!(await documents.commit(found, appended))) {
      await discardOutdated(documents, threadId, thread, [...(thread?.toWrite ?? []), ...pushedOut]);
      return OVERTAKEN;
    }
    // The append is made, even if this fails; then the next one does it.
    if (!isFinished(appended)) await finishNow(documents, threadId).catch(() => undefined);
    return { appended: true };
  });
}

async function refusal(
  documents: Documents,
  thread: StoredThread | undefined,
  { expected }: AppendRequest,
): Promise<AppendOutcome> {
  const own = thread?.generation === expected.generation ? thread : undefined;
  const occupant = own && (await new ThreadReader(documents, own).entryAt(expected.seq + 1));
  return {
    appended: false,
    tail: thread && entryOf(thread.tail),
    generation: thread?.generation,
    occupant: occupant && entryOf(occupant),
  };
}
