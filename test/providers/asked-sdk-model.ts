import { collectAnswer } from "../../src/models/collect-answer.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { type AiSdkOptions, fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import type { Message } from "../../src/state/message.ts";
import { recordingSdkModel, type SdkCall } from "./recording-sdk-model.ts";

/** What a language model of that version is asked, for a request of ours. */
export async function asked(
  version: string,
  messages: readonly Message[],
  options: AiSdkOptions = {},
  request: Partial<ModelRequest> = {},
  extras: object = {},
): Promise<SdkCall> {
  const model = recordingSdkModel(version, [], extras);
  await collectAnswer(fromAiSdk(model, { retry: false, ...options }).stream({ messages, tools: [], ...request }));
  return model.calls[0]!;
}
