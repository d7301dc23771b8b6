import type { ShapeContext } from "../../src/agent/ports.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";

/** What an agent tells its conversation port, with nothing in it but what the test is about. */
export const shapeContext = (given: Partial<ShapeContext> = {}): ShapeContext => ({
  threadId: "t",
  state: AgentState.create(),
  overlay: undefined,
  system: [],
  recalled: [],
  tools: [],
  model: scriptedModel([]),
  contextWindow: undefined,
  usage: undefined,
  signal: new AbortController().signal,
  warn: (error) => {
    throw error;
  },
  ...given,
});
