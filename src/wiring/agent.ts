import { CoreAgent, type CoreAgentOptions } from "../agent/agent.ts";
import type { PrepareStep } from "../agent/model-call/model-question.ts";
import type { DrainOptions } from "../agent/run/limits.ts";
import type { NamedTool } from "../agent/tool-call/tool.ts";
import { fixedUrl, openCheckpointer } from "../backends/open.ts";
import { assertCheckpointer, guardedLater } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { fallbackModel } from "../models/fallback-model.ts";
import type { Model } from "../models/model.ts";
import { retryingModel } from "../models/retrying-model.ts";
import type { AnySchema, SchemaOutput } from "../models/schema.ts";
import { type AiSdkModel, fromAiSdk, isAiSdkModel } from "../providers/ai-sdk/index.ts";
import { modelFromString } from "../providers/strings.ts";
import { assertAgentOptions, assertModel } from "./assert-agent-options.ts";

export interface AgentOptions<
  Schema extends AnySchema = AnySchema,
  Runtime = unknown,
  Tools extends NamedTool = NamedTool,
> extends Omit<CoreAgentOptions<Runtime, Tools>, "model" | "checkpointer" | "outputSchema" | "prepareStep"> {
  /** A name ("openai:gpt-5"), any AI SDK language model, or your own `Model`. */
  readonly model: AnyModel;
  /** Asked in their order when a model failed, after its retries, before it said anything. */
  readonly fallbackModels?: readonly AnyModel[];
  /** Before each model call: changes the model, the tools, the settings or the messages of that call alone. */
  readonly prepareStep?: PrepareStep<AnyModel>;
  /** Where threads are kept: a checkpointer, or a URL for `openCheckpointer`. Without one nothing is saved. */
  readonly checkpointer?: BaseCheckpointer | string;
  /** The answer must be JSON that matches this schema (zod, valibot, arktype, JSON Schema). */
  readonly outputSchema?: Schema;
}

export type AnyModel = string | Model | AiSdkModel;

/**
 * An agent whose conversation, tool effects and answers survive being killed at
 * any moment. Names become models and URLs become checkpointers here; the loop
 * itself knows neither.
 */
export class Agent<
  Schema extends AnySchema = AnySchema,
  Runtime = unknown,
  Tools extends NamedTool = NamedTool,
> extends CoreAgent<SchemaOutput<Schema>, Runtime, Tools> {
  readonly #opened: OpenOnce<BaseCheckpointer> | undefined;

  constructor(options: AgentOptions<Schema, Runtime, Tools>) {
    assertAgentOptions(options);
    const { model, checkpointer, fallbackModels = [], prepareStep, ...rest } = options;
    const opened = checkpointer === undefined ? undefined : new OpenOnce(resolveCheckpointer(checkpointer));
    const resolved = new OpenOnce(async () =>
      fallbackModel(await Promise.all([model, ...fallbackModels].map(resolveModel))),
    );
    super({
      ...rest,
      model: () => resolved.get(),
      ...(opened !== undefined && { checkpointer: () => opened.get() }),
      ...(prepareStep !== undefined && { prepareStep: withModels(prepareStep) }),
    });
    this.#opened = typeof checkpointer === "string" ? opened : undefined;
  }

  /** Drains, and closes the checkpointer if the agent opened it itself, from a URL. One that was handed in stays open. */
  override async close(options: DrainOptions = {}): Promise<void> {
    await super.close(options);
    await (await this.#opened?.opened())?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** What a step names is opened once, however many steps name it. */
function withModels(prepareStep: PrepareStep<AnyModel>): PrepareStep {
  const opened = new Map<AnyModel, OpenOnce<Model>>();
  return async (step) => {
    const { model, ...changes } = (await prepareStep(step)) ?? {};
    if (model === undefined) return changes;
    assertModel("prepareStep()", model);
    const known = opened.get(model) ?? new OpenOnce(() => resolveModel(model));
    opened.set(model, known);
    return { ...changes, model: await known.get() };
  };
}

export async function resolveModel(model: AnyModel): Promise<Model> {
  if (typeof model === "string") return retryingModel(await modelFromString(model));
  return retryingModel(isAiSdkModel(model) ? fromAiSdk(model) : model);
}

/** A wrong object or an unknown URL is refused when the agent is made, not when its first answer is saved. */
function resolveCheckpointer(checkpointer: BaseCheckpointer | string): () => Promise<BaseCheckpointer> {
  if (typeof checkpointer === "string") {
    const url = fixedUrl(checkpointer);
    return () => openCheckpointer(url);
  }
  assertCheckpointer(checkpointer, "Agent({ checkpointer })");
  return () => guardedLater(checkpointer);
}
