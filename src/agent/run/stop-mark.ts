import type { AgentState } from "../../state/agent-state.ts";
import { STOPPED_KEY } from "../../state/tool-calls.ts";
import type { StopReason } from "../events.ts";

/** Stopped by a limit of the run or by its caller. A run that was drained, or lost its model half way, should continue. */
const ON_PURPOSE: ReadonlySet<StopReason> = new Set<StopReason>([
  "cancelled",
  "max-iterations",
  "token-budget",
  "time-budget",
  "tool-loop",
  "stopped",
]);

/** Kept in the thread, so that a stopped turn is not mistaken for a lost one. */
export const withStopMark = (state: AgentState, stopReason: StopReason): AgentState =>
  ON_PURPOSE.has(stopReason) ? state.withProviderState({ [STOPPED_KEY]: stopReason }) : state;

/** Running the thread again means that it should continue. */
export const withoutStopMark = (state: AgentState): AgentState =>
  state.providerState[STOPPED_KEY] === undefined ? state : state.withProviderState({ [STOPPED_KEY]: undefined });
