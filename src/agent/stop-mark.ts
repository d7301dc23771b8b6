import type { AgentState } from "../state/agent-state.ts";
import { STOPPED_KEY } from "../state/standing.ts";
import type { StopReason } from "./events.ts";

/** By a limit of the run or by its caller. Whoever was drained, or lost its model half way, wants to go on. */
const ON_PURPOSE: ReadonlySet<StopReason> = new Set<StopReason>([
  "cancelled",
  "max-iterations",
  "token-budget",
  "time-budget",
  "tool-loop",
  "stopped",
]);

/** Kept in the thread, so that nobody takes a turn that was stopped for one that was lost. */
export const withStopMark = (state: AgentState, stopReason: StopReason): AgentState =>
  ON_PURPOSE.has(stopReason) ? state.withProviderState({ [STOPPED_KEY]: stopReason }) : state;

/** Whoever runs the thread again wants it to go on. */
export const withoutStopMark = (state: AgentState): AgentState =>
  state.providerState[STOPPED_KEY] === undefined ? state : state.withProviderState({ [STOPPED_KEY]: undefined });
