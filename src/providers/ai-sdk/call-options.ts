import type { ModelRequest, ModelTool } from "../../models/model.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import { asProviderOptions } from "./own-notes.ts";
import type { PromptContext } from "./prompt-context.ts";
import type { CallOptions, Specification } from "./specification.ts";
import { toPrompt } from "./to-prompt.ts";

/** A tool that the provider runs itself, by the name the model calls it: `{ web_search: openai.tools.webSearch() }`. */
export type ProviderTools = Readonly<
  Record<string, { readonly id: string; readonly args: Readonly<Record<string, unknown>> }>
>;

export interface CallDefaults {
  readonly providerOptions: ProviderMetadata | undefined;
  readonly providerTools: ProviderTools | undefined;
}

export async function toCallOptions(
  request: ModelRequest,
  context: PromptContext,
  defaults: CallDefaults,
): Promise<CallOptions> {
  const { toolChoice, responseSchema, maxOutputTokens, temperature, topP, stopSequences, seed, signal } = request;
  const tools = [
    ...request.tools.map(functionTool),
    ...Object.entries(defaults.providerTools ?? {}).map(([name, { id, args }]) => ({
      type: providerToolType(context.version),
      id,
      name,
      args,
    })),
  ];
  return {
    prompt: await toPrompt(request.messages, context),
    ...(tools.length > 0 && { tools }),
    ...(toolChoice !== undefined && tools.length > 0 && { toolChoice: choiceOf(toolChoice) }),
    ...(responseSchema !== undefined && { responseFormat: { type: "json", ...responseSchema } }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stopSequences !== undefined && { stopSequences }),
    ...(seed !== undefined && { seed }),
    ...(signal !== undefined && { abortSignal: signal }),
    ...asProviderOptions(defaults.providerOptions, request.providerOptions),
  };
}

const functionTool = ({ name, description, strict, inputSchema }: ModelTool): object => ({
  type: "function",
  name,
  ...(description !== undefined && { description }),
  ...(strict !== undefined && { strict }),
  inputSchema,
});

const providerToolType = (version: Specification): string => (version === "v2" ? "provider-defined" : "provider");

const choiceOf = (choice: NonNullable<ModelRequest["toolChoice"]>): object =>
  typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.name };
