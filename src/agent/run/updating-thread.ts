import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { LeaseOptions } from "../../checkpoint/lease/lease.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { mayBeThereAlready } from "../../checkpoint/thread/thread.ts";
import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import { AgentState } from "../../state/agent-state.ts";
import { hasBegun } from "../../state/tool-calls.ts";
import type { StateChange } from "../agent-thread.ts";
import { sessionStorage } from "../saving/session-storage.ts";
import { openCalls } from "../tool-call/ledger.ts";
import { type Outcome, settle } from "../tool-call/tool-result.ts";
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
    return await sessionStorage(place).save(after, true, []);
  } catch (error) {
    const isRefused = StateError.is(error, "CONFLICT") && !mayBeThereAlready(error);
    if (place.riding?.wasHeld === false && isRefused) throw new Overtaken(error);
    throw error;
  }
}

/**
 * Settles what is open in the thread of a sub-agent that nothing will go on with,
 * and in those of its own sub-agents: what was begun is in doubt, and is found as such.
 */
export async function giveUpThread(
  checkpointer: BaseCheckpointer,
  threadId: string,
  options: { readonly now: number; readonly maxResultChars: number },
  lease: boolean | Omit<LeaseOptions, "signal">,
): Promise<void> {
  const state = await loadState(checkpointer, threadId);
  if (state === undefined || openCalls(state).length === 0) return;
  for (const { execution } of openCalls(state)) {
    if (execution.childThreadId !== undefined) {
      await giveUpThread(checkpointer, execution.childThreadId, options, lease);
    }
  }
  const change = (newest: AgentState): AgentState =>
    openCalls(newest).reduce((next, { call, execution }) => {
      const asked = next.interrupts.filter(({ toolCallId, answer }) => toolCallId !== call.id || answer !== undefined);
      return settle(
        next.with({ interrupts: asked }),
        call,
        execution,
        hasBegun(execution) ? IN_DOUBT : NOT_MADE,
        options,
      );
    }, newest);
  await updateThread(checkpointer, threadId, change, lease);
}

const IN_DOUBT: Outcome = {
  status: "unknown",
  content: "The sub-agent was ended in the middle of this call. It may have taken effect: verify before repeating it.",
};
const NOT_MADE: Outcome = { status: "failed", content: "The sub-agent was ended before this call was made." };
