import type { FinishReason, Model, ModelRequest, ModelUsage } from "../../models/model.ts";
import { type ContentPart, type Message, textOf } from "../../state/message.ts";
import { encodeText } from "../../state/values/codec.ts";
import type { Tool } from "../tool-call/tool.ts";
import type { Attributes, Histogram, SpanStart } from "./telemetry.ts";

/** What is told to OpenTelemetry, in the words of its GenAI semantic conventions. What was said, only where it is asked for. */

/** As the conventions advise. */
export const TOKEN_USAGE: Histogram = {
  name: "gen_ai.client.token.usage",
  unit: "{token}",
  boundaries: Array.from({ length: 14 }, (_, power) => 4 ** power),
};
export const OPERATION_DURATION: Histogram = {
  name: "gen_ai.client.operation.duration",
  unit: "s",
  boundaries: Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power),
};
export const SAVE_DURATION: Histogram = { name: "holdfast.save.duration", unit: "s" };

/** The conventions' names for providers, where they are not the same as ours. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  "google-vertex": "gcp.vertex_ai",
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** "openai:gpt-5" in its parts; a model without a provider in its id is its own. */
export function namesOf(modelId: string): { readonly provider: string; readonly model: string } {
  const place = modelId.indexOf(":");
  const provider = place === -1 ? modelId : modelId.slice(0, place);
  return { provider: PROVIDERS[provider] ?? provider, model: modelId.slice(place + 1) };
}

export function runSpan(agentName: string | undefined, threadId: string | undefined, runId: string): SpanStart {
  return {
    name: agentName === undefined ? "invoke_agent" : `invoke_agent ${agentName}`,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      ...(agentName !== undefined && { "gen_ai.agent.name": agentName }),
      ...(threadId !== undefined && { "gen_ai.conversation.id": threadId }),
      "holdfast.run.id": runId,
    },
  };
}

/** The same for the span and for its metrics. */
export const callAttributes = ({ id }: Model): Attributes => {
  const { provider, model } = namesOf(id);
  return { "gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model };
};

export function modelSpan(model: Model, request: ModelRequest, threadId: string | undefined): SpanStart {
  const { maxOutputTokens, temperature, topP, stopSequences, seed, responseSchema } = request;
  return {
    name: `chat ${namesOf(model.id).model}`,
    isCall: true,
    attributes: {
      ...callAttributes(model),
      ...(threadId !== undefined && { "gen_ai.conversation.id": threadId }),
      ...(maxOutputTokens !== undefined && { "gen_ai.request.max_tokens": maxOutputTokens }),
      ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
      ...(topP !== undefined && { "gen_ai.request.top_p": topP }),
      ...(stopSequences !== undefined && { "gen_ai.request.stop_sequences": [...stopSequences] }),
      ...(seed !== undefined && { "gen_ai.request.seed": seed }),
      ...(responseSchema !== undefined && { "gen_ai.output.type": "json" }),
    },
  };
}

const FINISH: Readonly<Partial<Record<FinishReason, string>>> = {
  "tool-calls": "tool_call",
  "content-filter": "content_filter",
};

export const finishAttributes = (reason: FinishReason | undefined): Attributes =>
  reason === undefined ? {} : { "gen_ai.response.finish_reasons": [FINISH[reason] ?? reason] };

export const responseAttributes = (response: { readonly model?: string; readonly id?: string }): Attributes => ({
  ...(response.model !== undefined && { "gen_ai.response.model": response.model }),
  ...(response.id !== undefined && { "gen_ai.response.id": response.id }),
});

export const usageAttributes = (usage: ModelUsage): Attributes => ({
  "gen_ai.usage.input_tokens": usage.inputTokens,
  "gen_ai.usage.output_tokens": usage.outputTokens,
  "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
  ...(usage.cacheWriteTokens !== undefined && {
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
  }),
  ...(usage.reasoningTokens !== undefined && { "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens }),
});

export const toolSpan = ({ name, description }: Tool, callId: string, attempt: number): SpanStart => ({
  name: `execute_tool ${name}`,
  attributes: {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": callId,
    "gen_ai.tool.type": "function",
    ...(typeof description === "string" && { "gen_ai.tool.description": description }),
    "holdfast.tool.attempt": attempt,
  },
});

/** What was said in a model call, as the conventions write messages down: a list in JSON. */
export function saidAttributes(
  { messages }: ModelRequest,
  answer: Message,
  finishReason: FinishReason | undefined,
): Attributes {
  const system = messages.filter(({ role }) => role === "system");
  const input = messages.filter(({ role }) => role !== "system");
  const output = { ...spoken(answer), finish_reason: finishReason ?? "error" };
  return {
    ...(system.length > 0 && { "gen_ai.system_instructions": JSON.stringify(system.flatMap(partsOf)) }),
    "gen_ai.input.messages": JSON.stringify(input.map(spoken)),
    "gen_ai.output.messages": JSON.stringify([output]),
  };
}

/** The arguments of a call, and what the model is shown of its outcome. */
export const callContent = (input: unknown, result: string | undefined): Attributes => ({
  "gen_ai.tool.call.arguments": encodeText(input, "arguments"),
  ...(result !== undefined && { "gen_ai.tool.call.result": result }),
});

const spoken = (message: Message): object => ({ role: message.role, parts: partsOf(message) });

function partsOf(message: Message): readonly object[] {
  if (message.role === "tool")
    return [{ type: "tool_call_response", id: message.toolCallId, response: textOf(message) }];
  const { content } = message;
  const parts = (typeof content === "string" ? textParts(content) : content).map(contentPart);
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return [
    ...parts,
    ...calls.map(({ id, name, arguments: input }) => ({ type: "tool_call", id, name, arguments: input })),
  ];
}

const textParts = (text: string): readonly ContentPart[] => (text === "" ? [] : [{ type: "text", text }]);

/** The bytes of a file are named, not copied into a trace. */
function contentPart(part: ContentPart): object {
  if (part.type !== "file") return { type: part.type, content: part.text };
  const { mediaType, data } = part;
  const modality = mediaType.replace(/\/.*/, "");
  if (data instanceof Uint8Array) return { type: "file", modality, mime_type: mediaType, bytes: data.length };
  return { type: "uri", modality, mime_type: mediaType, uri: data.url };
}
