import { CoreAgent, type CoreAgentOptions } from "../agent/agent.ts";
import type { DrainOptions } from "../agent/cut-off.ts";
import { backendOf, openCheckpointer } from "../backends/open.ts";
import { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import type { Model } from "../models/model.ts";
import { retryingModel } from "../models/retrying-model.ts";
import type { AnySchema, SchemaOutput } from "../models/schema.ts";
import { type AiSdkModel, fromAiSdk, isAiSdkModel } from "../providers/ai-sdk/index.ts";
import { modelFromString } from "../providers/strings.ts";
import { assertAgentOptions } from "./assert-agent-options.ts";

export interface AgentOptions<Schema extends AnySchema = AnySchema, Context = unknown>
  extends Omit<CoreAgentOptions<Context>, "model" | "checkpointer" | "outputSchema"> {
  /** A name ("openai:gpt-5"), any AI SDK language model, or your own `Model`. */
  readonly model: string | Model | AiSdkModel;
  /** Where threads are kept: a checkpointer, or a URL for `openCheckpointer`. Without one nothing is saved. */
  readonly checkpointer?: BaseCheckpointer | string;
  /** The answer must be JSON that matches this schema (zod, valibot, arktype, JSON Schema). */
  readonly outputSchema?: Schema;
}

/**
 * An agent whose conversation, tool effects and answers survive being killed at
 * any moment. Names become models and URLs become checkpointers here; the loop
 * itself knows neither.
 */
export class Agent<Schema extends AnySchema = AnySchema, Context = unknown> extends CoreAgent<
  SchemaOutput<Schema>,
  Context
> {
  readonly #opened: OpenOnce<BaseCheckpointer> | undefined;

  constructor(options: AgentOptions<Schema, Context>) {
    assertAgentOptions(options);
    const { model, checkpointer, ...rest } = options;
    const opened = checkpointer === undefined ? undefined : new OpenOnce(resolveCheckpointer(checkpointer));
    const resolved = new OpenOnce(() => resolveModel(model));
    super({ ...rest, model: () => resolved.get(), ...(opened !== undefined && { checkpointer: () => opened.get() }) });
    this.#opened = typeof checkpointer === "string" ? opened : undefined;
  }

  /** Drains, and closes the checkpointer if the agent opened it itself, from a URL. One that was handed in stays open. */
  async close(options: DrainOptions = {}): Promise<void> {
    await this.drain(options);
    await (await this.#opened?.opened())?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export async function resolveModel(model: AgentOptions["model"]): Promise<Model> {
  if (typeof model === "string") return retryingModel(await modelFromString(model));
  return retryingModel(isAiSdkModel(model) ? fromAiSdk(model) : model);
}

/** A wrong object or an unknown URL is refused when the agent is made, not when its first answer is saved. */
function resolveCheckpointer(checkpointer: BaseCheckpointer | string): () => Promise<BaseCheckpointer> {
  if (typeof checkpointer === "string") {
    backendOf(checkpointer);
    return () => openCheckpointer(checkpointer);
  }
  assertCheckpointer(checkpointer, "Agent({ checkpointer })");
  return async () => checkpointer;
}
