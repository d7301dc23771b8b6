import type { CallPlace } from "../../driver/call.ts";
import { StateError } from "../../errors.ts";
import { isLeftToService } from "../../state/people/legal-hold.ts";
import type { CheckpointContext } from "../context.ts";
import { beginningOf } from "../log/driver-rules.ts";
import type { KnownPlace } from "../log/thread-log.ts";
import { assertNotHeld } from "../people/holds.ts";
import { Thread } from "../thread/thread.ts";

const NO_THREAD = beginningOf("");

type ThreadPlace = CallPlace & { readonly threadId: string };

/** Damaged, of a newer version, or sealed with a person's key that was lost. */
export const isUnreadable = (error: unknown): boolean =>
  StateError.is(error, "CORRUPT") ||
  StateError.is(error, "INCOMPATIBLE") ||
  (StateError.is(error) && error.context.keyId !== undefined);

/**
 * Deletes a whole thread, whatever its tail is. It goes at a place that was read
 * before the holds were: a hold that is placed meanwhile changes the place.
 *
 * `seen` is where a caller that looked already saw it.
 */
export async function removeThread(
  context: CheckpointContext,
  { operation, threadId }: ThreadPlace,
  seen: KnownPlace | undefined = context.warm.get(threadId)?.position.tail,
): Promise<"removed" | "absent"> {
  const thread = new Thread(context, threadId, operation);
  const races = thread.races();
  for (let at: KnownPlace | "absent" | "unknown" = seen ?? (await whereItIs(thread)); ; races.lost()) {
    // A thread that is made from here on stays; what an interrupted removal or copy left under this id goes.
    if (at === "absent") return (await removeThreadIf(thread, NO_THREAD)) === "removed" ? "removed" : "absent";
    const place = at === "unknown" ? undefined : at;
    const removed = await removeThreadIf(thread, place).catch((error: unknown) => {
      if (place === undefined || !isUnreadable(error)) throw error;
      return removeThreadIf(thread, undefined);
    });
    if (removed !== "moved") return removed;
    at = await whereItIs(thread);
  }
}

/** "unknown" for a thread that cannot be read, or not with this token: it can be deleted all the same. */
async function whereItIs(thread: Thread): Promise<KnownPlace | "absent" | "unknown"> {
  try {
    return (await thread.tail()) ?? "absent";
  } catch (error) {
    if (isUnreadable(error) || isLeftToService(error)) return "unknown";
    throw error;
  }
}

/**
 * Deletes a whole thread while `ifTail` is its tail, which was read before; without
 * it, whatever is there.
 */
export async function removeThreadIf(
  thread: Thread,
  ifTail: KnownPlace | undefined,
): Promise<"removed" | "absent" | "moved"> {
  await thread.guard(() => assertNotHeld(thread.context, thread.id));
  return thread.remove(ifTail);
}

/** Deletes a whole thread while `expectedHead` is its newest checkpoint; anything else is a conflict, and nothing is deleted. */
export async function removeThreadAt(
  context: CheckpointContext,
  place: ThreadPlace,
  expectedHead: string,
): Promise<boolean> {
  const { threadId, operation } = place;
  const thread = new Thread(context, threadId, operation);
  // Records that are not checkpoints, such as those of a lease, may come meanwhile: the head is what counts.
  for (const races = thread.races(); ; races.lost()) {
    const tail = await thread.tail();
    if (tail === undefined) return false;
    const actual = (tail.seq === tail.head ? tail : await thread.newest())?.checkpointId ?? null;
    if (actual !== expectedHead) {
      const message = `thread ${JSON.stringify(threadId)} has moved on: expected ${expectedHead}, found ${actual ?? "no checkpoint"}. Nothing was deleted`;
      throw new StateError("CONFLICT", message, { ...place, expected: expectedHead, actual, written: "no" });
    }
    const removed = await removeThreadIf(thread, tail);
    if (removed !== "moved") return removed === "removed";
  }
}
