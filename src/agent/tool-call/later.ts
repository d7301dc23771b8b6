import { StateError } from "../../errors.ts";
import { assertKnownOptions, type OptionKinds } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ToolExecution, WaitingCall } from "../../state/fields.ts";
import { openCallsIn } from "../../state/tool-calls.ts";
import { type Outcome, settle } from "./tool-result.ts";

export interface LaterOptions {
  /** The call must be completed within this time; otherwise the next run of the thread settles it. @default no deadline */
  readonly deadlineMs?: number;
}

const OPTIONS: OptionKinds<LaterOptions> = { deadlineMs: "number" };

/** What a tool returns whose outcome comes from outside. A class of our own that data cannot make. */
export class Later<Result = unknown> {
  readonly dueAt: number | undefined;
  /** Never there: says to the types what completes the call. */
  declare readonly "~result"?: Result;

  /** For a sub-agent: the calls in its thread that are to be completed. */
  readonly waitsFor: readonly WaitingCall[];

  constructor(dueAt: number | undefined, waitsFor: readonly WaitingCall[] = []) {
    this.dueAt = dueAt;
    this.waitsFor = waitsFor;
  }

  static after<Result>(options: LaterOptions, now: number): Later<Result> {
    assertKnownOptions("later()", options, OPTIONS);
    const { deadlineMs } = options;
    if (deadlineMs === undefined) return new Later<Result>(undefined);
    if (deadlineMs > 0) return new Later<Result>(now + deadlineMs);
    throw new StateError("INVALID_ARGUMENT", "later(): deadlineMs must be greater than 0");
  }

  waitingIn(state: AgentState, started: ToolExecution): AgentState {
    const due = this.dueAt === undefined ? {} : { dueAt: this.dueAt };
    const { waitsFor: _, ...entry } = started;
    const children = this.waitsFor.length === 0 ? {} : { waitsFor: this.waitsFor };
    return state.withToolExecution({ ...entry, status: "pending", ...due, ...children });
  }
}

/** How an overdue call ends. The work may still be done. */
export function overdue({ dueAt, effect }: ToolExecution, now: number): Outcome | undefined {
  if (dueAt === undefined || now < dueAt) return undefined;
  const content = "This call was not completed before its deadline; it may still take effect.";
  return { status: effect === "pure" || effect === "idempotent" ? "failed" : "unknown", content };
}

/** Calls that are no longer awaited, because the user moved on. */
export function giveUpPending(
  state: AgentState,
  reason: string | undefined,
  options: { readonly now: number; readonly maxResultChars: number },
): AgentState {
  const why = reason === undefined ? "" : ` The reason: ${reason}`;
  const outcome = { status: "unknown", content: `This call was abandoned before it was completed.${why}` } as const;
  return openCallsIn(state).reduce(
    (next, { call, execution }) =>
      execution?.status === "pending" ? settle(next, call, execution, outcome, options) : next,
    state,
  );
}
