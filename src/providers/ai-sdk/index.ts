import { StateError } from "../../errors.ts";
import type { Model, ModelPart, ModelRequest } from "../../models/model.ts";
import { type ModelRetryOptions, retryingModel } from "../../models/retrying-model.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import type { ProviderTools } from "./call-options.ts";
import type { DownloadFile } from "./files.ts";
import { familyOf } from "./own-notes.ts";
import { type AiSdkModel, SPECIFICATIONS, type Specification } from "./specification.ts";

export type { ProviderTools } from "./call-options.ts";
export type { DownloadFile } from "./files.ts";
export type { AiSdkModel } from "./specification.ts";

export interface AiSdkOptions {
  /** @default the model's own provider and name: "openai:gpt-5" */
  readonly id?: string;
  /** `false` when another layer retries. */
  readonly retry?: ModelRetryOptions | false;
  /** Without it, a file whose URL the provider does not fetch by itself is refused. */
  readonly download?: DownloadFile;
  /** For every request, unless the request says otherwise. */
  readonly providerOptions?: ProviderMetadata;
  readonly providerTools?: ProviderTools;
  /** Told what a provider could not do as asked: a setting it does not know, for one. */
  readonly onWarning?: (warning: unknown) => void;
  /** Texts that must not appear in an error. Keys of the usual shapes never do. */
  readonly secrets?: readonly string[];
}

/**
 * Any AI SDK language model as a `Model`: specification v2 (AI SDK 5), v3 (6) and v4 (7).
 *
 * What a provider wants back (reasoning signatures, item ids) is in the parts'
 * `providerMetadata` and goes back as `providerOptions`. Sources and raw chunks
 * are not kept. A user's `name` has no place in the interface and is not sent.
 * With OpenAI's responses, `store` is off unless you set it: see `lastingDefaults` in `asking.ts`.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  if (!isAiSdkModel(model)) {
    throw new TypeError(
      "fromAiSdk() takes an AI SDK language model: an object with specificationVersion, provider, modelId and doStream",
    );
  }
  const adapted = new AdaptedModel(model, versionOf(model), options);
  return options.retry === false ? adapted : retryingModel(adapted, options.retry);
}

/** Whether a value is an AI SDK language model, of whatever version. */
export function isAiSdkModel(value: unknown): value is AiSdkModel {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, provider, modelId, doStream, doGenerate } = value as Partial<AiSdkModel>;
  const isNamed = [specificationVersion, provider, modelId].every((name) => typeof name === "string");
  return isNamed && (typeof doStream === "function" || typeof doGenerate === "function");
}

function versionOf({ specificationVersion, provider, modelId }: AiSdkModel): Specification {
  const known = SPECIFICATIONS.find((version) => version === specificationVersion);
  if (known !== undefined) return known;
  throw new StateError(
    "INVALID_ARGUMENT",
    `the AI SDK model ${provider} ${modelId} has specification ${JSON.stringify(specificationVersion)}; ` +
      `this version of holdfast knows ${SPECIFICATIONS.join(", ")}. Use a provider package of one of those`,
  );
}

class AdaptedModel implements Model {
  readonly id: string;
  readonly runsTools: boolean;
  readonly #model: AiSdkModel;
  readonly #version: Specification;
  readonly #options: AiSdkOptions;

  constructor(model: AiSdkModel, version: Specification, options: AiSdkOptions) {
    this.id = options.id ?? `${familyOf(model.provider)}:${model.modelId}`;
    this.runsTools = Object.keys(options.providerTools ?? {}).length > 0;
    this.#model = model;
    this.#version = version;
    this.#options = options;
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    request.signal?.throwIfAborted();
    // Both directions of the translation come with the first request: to name a model takes little of it.
    const { answerOf } = await import("./asking.ts");
    const asked = { id: this.id, model: this.#model, version: this.#version, options: this.#options };
    yield* answerOf(asked, request);
  }
}
