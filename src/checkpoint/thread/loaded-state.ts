import { AgentState } from "../../state/agent-state.ts";
import type { BaseCheckpointer, CheckpointRef } from "../base-checkpointer.ts";

/** Checks that a loaded value is a state: a custom backend may return whatever it stored. */
export async function loadState(
  checkpointer: BaseCheckpointer,
  threadId: string,
  ref?: CheckpointRef,
): Promise<AgentState | undefined> {
  const found: unknown = await (ref === undefined ? checkpointer.load(threadId) : checkpointer.load(threadId, ref));
  if (found === undefined || found === null) return undefined;
  if (found instanceof AgentState) return found;
  const what = typeof found === "object" ? "an object that is no AgentState" : `a ${typeof found}`;
  throw new TypeError(
    `${checkpointer.constructor.name}.load() returned ${what}. It must return an AgentState or undefined: ` +
      "return AgentState.fromCheckpoint(data), where data is what state.toCheckpoint() gave to save()",
  );
}
