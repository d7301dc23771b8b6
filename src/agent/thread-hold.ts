import type { AgentState } from "../state/agent-state.ts";

/** Where a session's states go. */
export interface SessionStorage {
  /** With `ends` it is the last save of the run: whatever the run holds is given back with it. */
  save(state: AgentState, ends: boolean): Promise<string>;
  /** For a run that holds its thread. */
  readonly hold?: ThreadHold;
}

export interface ThreadHold {
  readonly isHeld: boolean;
  /** Without a sign of life for three times this, another may take over. */
  readonly renewEveryMs: number;
  /** Takes, renews or gives back without saving anything. `state` is the newest that is stored. */
  mark(state: AgentState, ends: boolean): Promise<void>;
}
