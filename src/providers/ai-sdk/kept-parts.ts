import type { ContentPart } from "../../state/message.ts";
import { promptFile } from "./files.ts";
import { asProviderOptions, familyOf, type KeptPart, keptPart, withOwnNotes } from "./own-notes.ts";
import type { PromptContext } from "./prompt-context.ts";
import type { GeneratedFilePart, PromptPart, StreamPart, ToolCallPart, ToolResultPart } from "./specification.ts";

/**
 * A tool that the provider runs itself (its web search, its sandbox) is not a tool call
 * for us: the agent must not run it. Call and result are kept as parts of the answer,
 * and go back to the same provider in their places; another provider is not shown them.
 * Blocks that only one provider knows are kept the same way.
 */
export function keptCall(part: ToolCallPart, provider: string): ContentPart {
  const { toolCallId: id, toolName: name, input, providerMetadata } = part;
  return keptPart(
    { family: familyOf(provider), kind: "tool-call", id, name, arguments: readable(input) },
    providerMetadata,
  );
}

export function keptResult(part: ToolResultPart, provider: string): ContentPart {
  const { toolCallId: id, toolName: name, result, isError = false, providerMetadata } = part;
  return keptPart({ family: familyOf(provider), kind: "tool-result", id, name, result, isError }, providerMetadata);
}

export function keptCustom(part: Extract<StreamPart, { type: "custom" }>, provider: string): ContentPart {
  return keptPart({ family: familyOf(provider), kind: "custom", name: part.kind }, part.providerMetadata);
}

/** A file that the model made, as our part. */
export function generatedFile(part: GeneratedFilePart, provider: string): ContentPart {
  const { mediaType, providerMetadata } = part;
  const file = { type: "file" as const, mediaType, data: dataOf(part.data) };
  if (part.type === "file") return { ...file, ...(providerMetadata !== undefined && { providerMetadata }) };
  const kept = { family: familyOf(provider), kind: "reasoning-file" } as const;
  return { ...file, providerMetadata: withOwnNotes(providerMetadata, { kept }) };
}

function dataOf(data: GeneratedFilePart["data"]): Uint8Array | { readonly url: string } {
  if (typeof data === "string") return new Uint8Array(Buffer.from(data, "base64"));
  if (data instanceof Uint8Array) return data;
  return data.type === "url" ? { url: String(data.url) } : dataOf(data.data);
}

/** A kept part as its provider wants it back. */
export async function sentBack(
  kept: KeptPart,
  part: ContentPart,
  context: PromptContext,
): Promise<PromptPart | undefined> {
  const options = asProviderOptions(part.providerMetadata);
  switch (kept.kind) {
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId: kept.id,
        toolName: kept.name,
        input: kept.arguments,
        providerExecuted: true,
        ...options,
      };
    case "tool-result": {
      const output = { type: kept.isError ? "error-json" : "json", value: kept.result };
      return { type: "tool-result", toolCallId: kept.id, toolName: kept.name, output, ...options };
    }
    case "custom":
      return context.version === "v4" ? { type: "custom", kind: kept.name, ...options } : undefined;
    case "reasoning-file":
      if (part.type !== "file" || context.version !== "v4") return undefined;
      return { ...(await promptFile(part, context)), type: "reasoning-file", ...options };
  }
}

function readable(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
