import { type ErrorContext, StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { textOf } from "../state/message.ts";

/** What a run throws: the failure, with all that was said attached, saved or not. */
export class RunError extends StateError {
  override readonly retryable: boolean;
  /** The state when it happened. */
  readonly state: AgentState;
  /** The model's last words: an answer is not lost because it could not be saved. */
  readonly text: string;

  constructor(failure: StateError, state: AgentState) {
    super(failure.code, failure.message, { ...(failure.context as ErrorContext), cause: failure });
    this.retryable = failure.retryable;
    this.state = state;
    this.text = lastText(state);
  }
}

export function lastText(state: AgentState): string {
  const last = state.messages.findLast((message) => message.role === "assistant");
  return last === undefined ? "" : textOf(last);
}
