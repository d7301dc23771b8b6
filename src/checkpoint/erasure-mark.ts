import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";
import { decodeMetadata } from "./metadata.ts";
import { openHeader } from "./record.ts";
import type { ThreadTail } from "./thread-log.ts";

/** A thread of the package's own in every storage that people were erased from: how far it was cleaned, and what must wait. */
export const ERASURE_MARK = { threadId: "holdfast:erasures", checkpointId: "applied" } as const;
/** In the mark's metadata: until when no thread may be made of another one. */
export const NO_COPIES_UNTIL = "noCopiesUntil";

/** A fork as it was written, and its source as it was read. */
export interface WrittenFork {
  readonly checkpointId: string;
  readonly generation: string;
  readonly from: { readonly generation: string; readonly erasures: number };
}

export const erasuresAt = (tail: Pick<ThreadTail, "entry">): number => openHeader(tail.entry).thread?.erasures ?? 0;

/**
 * A fork or a copy that is made while somebody is erased may hold what was erased
 * from its source after it was read, and be written after the erasure's last
 * look. So whoever made it looks once it is there: at the source, which says
 * whether anything was erased from it since, and at the storage's mark, by which
 * an erasure that is outrun by copies holds them off. Then the copy goes again.
 */
export async function assertCopyMayStay(
  context: CheckpointContext,
  operation: string,
  source: { readonly threadId: string; readonly generation: string; readonly erasures: number },
  target: { readonly threadId: string; readonly generation: string },
): Promise<void> {
  const place = { operation, threadId: target.threadId };
  const [tail, isHeldOff] = await Promise.all([
    context.call(place, (log) => log.tail(source.threadId)),
    areCopiesHeldOff(context, place),
  ]);
  const isErasedSince = tail?.generation === source.generation && erasuresAt(tail) !== source.erasures;
  if (!isErasedSince && !isHeldOff) return;
  const copy = await context.call(place, (log) => log.tail(target.threadId));
  if (copy?.generation === target.generation) {
    const ifTail = { generation: target.generation, seq: copy.entry.seq };
    const removed = await context.call(place, (log) => log.remove(target.threadId, ifTail));
    // Somebody works with it already: what it holds of the person is found as in any thread, as long as they are looked for.
    if (removed === "moved") return;
  }
  throw new StateError(
    "CONFLICT",
    `${context.log.name}: a person is being erased, and thread ${JSON.stringify(target.threadId)} may have held what has to go: it was not made. Try again`,
    { backend: context.log.name, operation, threadId: target.threadId, written: "no" },
  );
}

async function areCopiesHeldOff(
  context: CheckpointContext,
  place: { readonly operation: string; readonly threadId: string },
): Promise<boolean> {
  const { threadId, checkpointId } = ERASURE_MARK;
  const mark = await context.call(place, (log) => log.entry(threadId, checkpointId));
  if (mark?.metadata === undefined) return false;
  const until = decodeMetadata(mark.metadata, "metadata")[NO_COPIES_UNTIL];
  return typeof until === "number" && until > (await context.storageNow());
}
