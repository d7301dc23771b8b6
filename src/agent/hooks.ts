import type { ModelRequest } from "../models/model.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { ToolExecution } from "../state/fields.ts";
import type { AssistantMessage, ToolCall } from "../state/message.ts";
import type { Guards } from "./guards.ts";
import type { RunContext } from "./run/run-context.ts";

/**
 * Called around the steps of a run. One that is called *before* a step may
 * throw to stop the run there; what was said so far is saved. One that is
 * called *after* a step comes after its save: if it throws, that is a warning.
 */
export interface AgentHooks extends Guards {
  beforeRun?(context: { readonly state: AgentState; readonly threadId: string | undefined }): unknown;
  beforeIteration?(context: { readonly state: AgentState; readonly iteration: number }): unknown;
  beforeModel?(context: { readonly request: ModelRequest }): unknown;
  afterModel?(context: { readonly message: AssistantMessage; readonly state: AgentState }): unknown;
  beforeTool?(context: { readonly call: ToolCall; readonly execution: ToolExecution }): unknown;
  afterTool?(context: { readonly call: ToolCall; readonly execution: ToolExecution }): unknown;
  afterIteration?(context: { readonly state: AgentState; readonly iteration: number }): unknown;
  afterRun?(context: { readonly state: AgentState; readonly stopReason: string }): unknown;
}

type After = "afterModel" | "afterTool" | "afterIteration" | "afterRun";

/** Runs a hook whose failure must cost nothing, once what it reports is durable. */
export async function runAfter<Name extends After>(
  { parts, session, emit }: RunContext,
  name: Name,
  details: Parameters<NonNullable<AgentHooks[Name]>>[0],
): Promise<void> {
  const hook = parts.hooks[name] as ((context: unknown) => unknown) | undefined;
  if (hook === undefined) return;
  await session.durable();
  try {
    await hook.call(parts.hooks, details);
  } catch (error) {
    emit({ type: "warning", where: name, error });
  }
}
