import { isExpected } from "../log/driver-rules.ts";
import type { KnownPlace } from "../log/thread-log.ts";
import { type Documents, OVERTAKEN } from "./documents.ts";
import { discardOutdated, finish, finishNow } from "./finishing.ts";
import { sweepRemoved } from "./sweeping.ts";
import { finishedThread, leftoverOf, placedTail } from "./thread-document.ts";

/**
 * One write of its document ends the thread; from then on the document only lists
 * what is to be deleted. So the next write or removal finishes an interrupted
 * one. Copies to the thread that are under way are given up too.
 */
export async function removeThread(
  documents: Documents,
  threadId: string,
  ifTail: KnownPlace | undefined,
): Promise<"removed" | "absent" | "moved"> {
  let gone: readonly string[] = [];
  const outcome = await documents.attempt(threadId, async (found) => {
    if (found.document === undefined) return "absent";
    const { thread, ...document } = found.document;
    if (thread !== undefined && ifTail !== undefined && !isExpected(placedTail(thread), ifTail)) return "moved";
    await finish(documents, found.document);
    const leftovers = [...document.copying, ...(thread === undefined ? [] : [leftoverOf(finishedThread(thread))])];
    gone = [...document.leftovers, ...leftovers].map(({ incarnation }) => incarnation);
    const without = { ...document, revision: document.revision + 1, copying: [], leftovers };
    if (await documents.commit(found, without)) return thread === undefined ? "absent" : "removed";
    await discardOutdated(documents, threadId, thread, thread?.toWrite ?? []);
    return OVERTAKEN;
  });
  if (outcome === "moved") return outcome;
  await finishNow(documents, threadId);
  await sweepRemoved(documents, gone);
  return outcome;
}
