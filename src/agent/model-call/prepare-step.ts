import { StateError } from "../../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import type { Model, ModelUsage } from "../../models/model.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Message } from "../../state/message.ts";
import type { RunContext } from "../run/run-context.ts";
import { assertModelSettings, type ModelSettings } from "./model-settings.ts";

/** A model call that is about to be made. */
export interface Step {
  readonly state: AgentState;
  readonly threadId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the run was given as `runtime`. */
  readonly runtime: unknown;
  /** 1 for the first model call of the run. */
  readonly iteration: number;
  /** Of the run so far. */
  readonly usage: ModelUsage;
  readonly model: Model;
  /** Everything the model would be shown, the system prompt first. */
  readonly messages: readonly Message[];
  /** The names of the tools it would be offered. */
  readonly tools: readonly string[];
}

/** What is different in this one call. What is left out stays as it is. Nothing of it is stored. */
export interface StepChanges<AnyModel = Model> extends ModelSettings {
  readonly model?: AnyModel;
  /** The names of the tools that are offered. A call of another one is answered with an error and not run. */
  readonly tools?: readonly string[];
  /** What the model is shown instead; made valid for providers if it is not. */
  readonly messages?: readonly Message[];
}

export type PrepareStep<AnyModel = Model> = (
  step: Step,
) => StepChanges<AnyModel> | undefined | Promise<StepChanges<AnyModel> | undefined>;

const CHANGES: OptionKinds<StepChanges> = {
  model: "anything",
  tools: "object",
  messages: "object",
  maxOutputTokens: "number",
  temperature: "number",
  toolChoice: ["string", "object"],
  providerOptions: "object",
};

/** Asks `prepareStep`, if there is one. A mistake in what it gives ends the run: the model would be asked for something else. */
export async function preparedStep(
  { parts, session, limits, threadId, metadata, runtime }: RunContext,
  messages: readonly Message[],
  tools: readonly string[],
): Promise<StepChanges> {
  const step = {
    state: session.state,
    threadId,
    metadata,
    runtime,
    iteration: limits.iterations,
    usage: limits.usage,
    model: parts.model,
    messages,
    tools,
  };
  const changes = (await parts.prepareStep?.(step)) ?? {};
  if (typeof changes !== "object") {
    throw new TypeError(`prepareStep() must return an object or nothing, not ${described(changes)}`);
  }
  assertKnownOptions("prepareStep()", changes, CHANGES);
  const unknown = changes.tools?.find((name) => !tools.includes(name));
  if (unknown !== undefined) {
    const offered = tools.length === 0 ? "there are none" : `there are ${tools.join(", ")}`;
    throw new StateError("INVALID_ARGUMENT", `prepareStep() names the tool ${JSON.stringify(unknown)}; ${offered}`);
  }
  assertModelSettings("prepareStep()", changes, changes.tools ?? tools);
  return changes;
}
