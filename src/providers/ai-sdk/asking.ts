import { untilAborted } from "../../internal/time.ts";
import type { ModelPart, ModelRequest } from "../../models/model.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import { toCallOptions } from "./call-options.ts";
import { asModelError } from "./classify.ts";
import { asStream } from "./from-generated.ts";
import { toModelParts } from "./from-stream.ts";
import type { AiSdkOptions } from "./index.ts";
import { mergeMetadata } from "./own-notes.ts";
import type { AiSdkModel, CallOptions, GenerateResult, Specification, StreamPart } from "./specification.ts";
import { streamItems } from "./stream-items.ts";

/** A model that is asked, and how. */
export interface AskedModel {
  readonly id: string;
  readonly model: AiSdkModel;
  readonly version: Specification;
  readonly options: AiSdkOptions;
}

export async function* answerOf(asked: AskedModel, request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
  const { id, model, options } = asked;
  const { onWarning, secrets = [] } = options;
  try {
    request.signal?.throwIfAborted();
    const parts = await ask(asked, request);
    yield* toModelParts(parts, { id, provider: model.provider, onWarning });
  } catch (error) {
    request.signal?.throwIfAborted();
    throw asModelError(error, id, secrets);
  }
}

async function ask(
  { id, model, version, options }: AskedModel,
  request: ModelRequest,
): Promise<AsyncIterable<StreamPart>> {
  const { signal } = request;
  const callable = model as unknown as CallableModel;
  const { download, providerOptions, providerTools } = options;
  const defaults = { providerOptions: mergeMetadata(lastingDefaults(model), providerOptions), providerTools };
  const call = await toCallOptions(request, { id, model, version, download, signal }, defaults);
  if (callable.doStream === undefined) return asStream(await untilAborted(callable.doGenerate(call), signal));
  const { stream } = await untilAborted(callable.doStream(call), signal);
  return streamItems(stream, signal);
}

/**
 * OpenAI's responses are stored there by default, and later requests then only
 * name their items, which OpenAI forgets after some weeks: a thread must outlive
 * that, so its items are sent in full. `store: true` in the options is respected.
 */
function lastingDefaults({ provider }: AiSdkModel): ProviderMetadata {
  return /^(?:openai|azure)\b.*\.responses$/.test(provider) ? { openai: { store: false } } : {};
}

interface CallableModel {
  doStream?(options: CallOptions): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>;
}
