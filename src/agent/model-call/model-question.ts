import { StateError } from "../../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import type { Model, ModelRequest, ModelUsage } from "../../models/model.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Message } from "../../state/message.ts";
import type { RunContext } from "../run/run-context.ts";
import { modelTool, type Tool } from "../tool-call/tool.ts";
import { READ_RESULT } from "../tool-call/tool-result.ts";
import { assertModelSettings, type ModelSettings, requestSettings, SETTINGS } from "./model-settings.ts";
import { withoutRefusedFiles } from "./refused-files.ts";
import { repairHistory } from "./repair-history.ts";

/** One model call, as it is about to be made. */
export interface ModelQuestion {
  readonly model: Model;
  readonly request: ModelRequest;
  /** Tools of the agent's that the model is not offered this time. */
  readonly withheld: ReadonlySet<string>;
}

export async function buildRequest(context: RunContext): Promise<ModelQuestion> {
  const { parts, session, prompt, modelSignal: signal, emit } = context;
  const usual = offeredTools(context);
  const { threadId, metadata, runtime } = context;
  const told = new Map(
    await Promise.all(
      usual.map(async (tool) => [tool, await modelTool(tool, { threadId, metadata, runtime })] as const),
    ),
  );
  const shown = await prompt.messages(context, [...told.values()]);
  const changes = await preparedStep(
    context,
    shown,
    usual.map(({ name }) => name),
  );
  const { model = parts.model, tools: names } = changes;
  const offered = names === undefined ? usual : usual.filter(({ name }) => names.includes(name));
  const tools = offered.flatMap((tool) => told.get(tool) ?? []);
  const output =
    parts.output === undefined ? {} : { responseSchema: { name: "answer", schema: parts.output.jsonSchema } };
  const wanted = changes.messages === undefined ? shown : repairHistory(changes.messages);
  const messages = withoutRefusedFiles(wanted, session.state, model.id);
  const settings = requestSettings([parts.settings, changes], tools.length > 0 || model.runsTools === true);
  const withheld = new Set(usual.filter((tool) => !offered.includes(tool)).map(({ name }) => name));
  return { model, request: { messages, tools, ...output, ...settings, signal, report: emit }, withheld };
}

/** The reader of large results is offered once there is something to read. */
function offeredTools({ parts, session }: RunContext): readonly Tool[] {
  const hasArtifacts = Object.keys(session.state.artifacts).length > 0;
  return [...parts.tools.values()].filter((tool) => hasArtifacts || tool.name !== READ_RESULT);
}

/** A model call that is about to be made. */
export interface Step {
  readonly state: AgentState;
  readonly threadId: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the run was given as `runtime`. */
  readonly runtime: unknown;
  /** 1 for the first model call of the run. */
  readonly iteration: number;
  /** The usage of the run so far. */
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
  ...SETTINGS,
};

/** Asks `prepareStep`, if there is one. A mistake in what it gives ends the run: the model would be asked for something else. */
async function preparedStep(
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
