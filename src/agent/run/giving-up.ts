import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { LeaseOptions } from "../../checkpoint/lease/lease.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { hasBegun } from "../../state/tool-calls.ts";
import { openCalls } from "../tool-call/ledger.ts";
import { type Outcome, settle } from "../tool-call/tool-result.ts";
import { updateThread } from "./updating-thread.ts";

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
