import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { LeaseOptions } from "../../checkpoint/lease/lease.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { mayBeThereAlready } from "../../checkpoint/thread/written.ts";
import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { StateChange } from "../agent-thread.ts";
import { sessionStorage } from "../saving/session-storage.ts";
import { asOnlyWriter, LEASE_MS, Overtaken, type Place, WAIT_MS } from "./only-writer.ts";
import { settleThread } from "./unsettled.ts";

/** One save of what `change` makes of the thread, in the thread's turn. Asked again where another run came first. */
export async function updateThread(
  checkpointer: BaseCheckpointer,
  threadId: string,
  change: StateChange,
  lease: boolean | Omit<LeaseOptions, "signal">,
): Promise<string> {
  const work = (place: Place): Promise<string> => saveChange(place, change);
  if (lease === false) {
    await settleThread(checkpointer, threadId);
    return work({ checkpointer, threadId, stored: await loadState(checkpointer, threadId) });
  }
  const { ttlMs = LEASE_MS, waitMs = Math.max(WAIT_MS, 2 * ttlMs), owner } = lease === true ? {} : lease;
  const nobodyListens = (): void => undefined;
  const terms = {
    whenBusy: "wait" as const,
    waitMs,
    ttlMs,
    owner,
    signal: undefined,
    messageId: undefined,
    emit: nobodyListens,
    warn: nobodyListens,
  };
  return asOnlyWriter(checkpointer, threadId, terms, work);
}

async function saveChange(place: Place, change: StateChange): Promise<string> {
  const before = place.stored ?? AgentState.create();
  const after: unknown = await change(before);
  if (!(after instanceof AgentState)) {
    throw new TypeError(`update(): the function must return the changed state, not ${described(after)}`);
  }
  try {
    return await sessionStorage(place).save(after, true);
  } catch (error) {
    const isRefused = StateError.is(error, "CONFLICT") && !mayBeThereAlready(error);
    if (place.riding?.wasHeld === false && isRefused) throw new Overtaken(error);
    throw error;
  }
}
