import type { AgentState } from "../../state/agent-state.ts";
import type { RunEvent } from "../events.ts";

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

export interface SessionOptions {
  readonly emit?: (event: RunEvent) => void;
  /** How long a save that settles a call with effects is tried. */
  readonly saveRetryMs?: number;
}
