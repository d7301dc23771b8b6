import {
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type Message,
  type ProviderMetadata,
  type ToolCall,
  type ToolMessage,
  textOf,
  type UserMessage,
} from "../../state/message.ts";
import { acceptedCallId } from "./call-ids.ts";
import { promptFile, resultFile } from "./files.ts";
import { sentBack } from "./kept-parts.ts";
import { asProviderOptions, familyOf, ownNotes } from "./own-notes.ts";
import type { PromptContext } from "./prompt-context.ts";
import type { PromptMessage, PromptPart } from "./specification.ts";

/** A conversation in our format, written for one model. What no provider accepts is left out, never made up. */
export async function toPrompt(messages: readonly Message[], context: PromptContext): Promise<PromptMessage[]> {
  const prompt: PromptMessage[] = [];
  const callMetadata = new Map<string, ProviderMetadata | undefined>();
  for (const message of messages) {
    const options = asProviderOptions(message.providerMetadata);
    if (message.role === "system") prompt.push({ role: "system", content: textOf(message), ...options });
    else if (message.role === "user") {
      prompt.push({ role: "user", content: await userParts(message, context), ...options });
    } else if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) callMetadata.set(call.id, call.providerMetadata);
      const content = await assistantParts(message, context);
      if (content.length > 0) prompt.push({ role: "assistant", content, ...options });
    } else {
      const result = await resultPart(message, callMetadata.get(message.toolCallId), context);
      const last = prompt.at(-1);
      // All results of one turn in one message: Gemini counts them.
      if (last?.role === "tool") prompt[prompt.length - 1] = { ...last, content: [...last.content, result] };
      else prompt.push({ role: "tool", content: [result] });
    }
  }
  return prompt;
}

async function userParts({ content }: UserMessage, context: PromptContext): Promise<PromptPart[]> {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const parts: PromptPart[] = [];
  for (const part of content) {
    if (part.type === "file")
      parts.push({ ...(await promptFile(part, context)), ...asProviderOptions(part.providerMetadata) });
    if (part.type === "text" && part.text !== "") parts.push(wordsPart(part));
  }
  return parts;
}

async function assistantParts(message: AssistantMessage, context: PromptContext): Promise<PromptPart[]> {
  const parts: PromptPart[] = [];
  const calls = [...(message.toolCalls ?? [])];
  for (const part of contentOf(message)) {
    const { afterToolCall } = ownNotes(part.providerMetadata);
    const count = calls.findIndex((call) => call.id === afterToolCall) + 1;
    parts.push(...calls.splice(0, count).map((call) => callPart(call, context)));
    const written = await assistantPart(part, context);
    if (written !== undefined) parts.push(written);
  }
  parts.push(...calls.map((call) => callPart(call, context)));
  // Thought that leads to nothing is refused by every provider: it was cut off before its answer came.
  return parts.slice(0, parts.findLastIndex((part) => part.type !== "reasoning") + 1);
}

const contentOf = ({ content }: AssistantMessage): readonly ContentPart[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

async function assistantPart(part: ContentPart, context: PromptContext): Promise<PromptPart | undefined> {
  const { kept } = ownNotes(part.providerMetadata);
  const family = familyOf(context.model.provider);
  if (kept !== undefined) return kept.family === family ? sentBack(kept, part, context) : undefined;
  if (part.type === "file")
    return { ...(await promptFile(part, context)), ...asProviderOptions(part.providerMetadata) };
  // Some providers refuse text of white space only, unless it is a block that the provider itself recognises
  // by its mark.
  const says = part.type === "text" ? part.text.trim() : part.text;
  return says === "" && part.providerMetadata?.[family] === undefined ? undefined : wordsPart(part);
}

const wordsPart = ({ type, text, providerMetadata }: Exclude<ContentPart, FilePart>): PromptPart => ({
  type,
  text,
  ...asProviderOptions(providerMetadata),
});

function callPart({ id, name, arguments: input, providerMetadata }: ToolCall, { model }: PromptContext): PromptPart {
  return {
    type: "tool-call",
    toolCallId: acceptedCallId(id, model.provider),
    toolName: name,
    // Only an object is accepted everywhere; something else is what a model wrote by mistake.
    input: typeof input === "object" && input !== null && !Array.isArray(input) ? input : { value: input ?? null },
    ...asProviderOptions(providerMetadata),
  };
}

async function resultPart(
  message: ToolMessage,
  callMetadata: ProviderMetadata | undefined,
  context: PromptContext,
): Promise<PromptPart> {
  return {
    type: "tool-result",
    toolCallId: acceptedCallId(message.toolCallId, context.model.provider),
    toolName: message.toolName,
    output: await resultOutput(message, context),
    // A result is known by its call: some providers look for the call's marks on it.
    ...asProviderOptions(callMetadata, message.providerMetadata),
  };
}

async function resultOutput(message: ToolMessage, context: PromptContext): Promise<object> {
  const text = textOf(message);
  const hasFiles = typeof message.content !== "string" && message.content.some((part) => part.type === "file");
  if (message.isError === true) return { type: "error-text", value: text };
  if (!hasFiles || typeof message.content === "string") return { type: "text", value: text };
  const value: PromptPart[] = [];
  for (const part of message.content) {
    if (part.type === "file") value.push(await resultFile(part, context));
    if (part.type === "text") value.push({ type: "text", text: part.text });
  }
  return { type: "content", value };
}
