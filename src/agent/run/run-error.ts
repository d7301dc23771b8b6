import { type ErrorContext, StateError } from "../../errors.ts";
import type { ModelUsage } from "../../models/model.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { textOf } from "../../state/message.ts";
import { toldToCaller } from "./told-to-caller.ts";
import { isRepairRequest } from "./turn-number.ts";

/** What a run throws: the failure, with all that was said attached, saved or not. */
export class RunError extends StateError {
  override readonly retryable: boolean;
  /** The state when it happened. */
  readonly state: AgentState;
  /** The model's last words: an answer is not lost because it could not be saved. */
  readonly text: string;
  /** What the models of the run had used. */
  readonly usage: ModelUsage;
  readonly cost: number | undefined;

  constructor(
    failure: StateError,
    state: AgentState,
    spoken: string,
    { usage, cost }: { readonly usage: ModelUsage; readonly cost: number | undefined },
  ) {
    super(failure.code, toldToCaller(failure.message), { ...(failure.context as ErrorContext), cause: failure });
    this.retryable = failure.retryable;
    this.state = state;
    this.usage = usage;
    this.cost = cost;
    this.text = spoken || lastText(state);
  }
}

/** The model's last words since the user's own last message. */
export function lastText({ messages }: AgentState): string {
  const asked = messages.findLastIndex((message) => message.role === "user" && !isRepairRequest(message));
  const last = messages.slice(asked + 1).findLast((message) => message.role === "assistant");
  return last === undefined ? "" : textOf(last);
}
