import { type Tool, type ToolContext, type ToolEffect, tool } from "../../agent/tool-call/tool.ts";
import { described } from "../../internal/known-options.ts";
import type { AnySchema } from "../../models/schema.ts";

/** The part of the AI SDK's `tool()` that is used. */
export interface AiSdkToolLike {
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: unknown;
}

export interface AiSdkToolsOptions {
  /** What a call may do, for all of them or by name. @default "atMostOnce" */
  readonly effect?: ToolEffect | Readonly<Record<string, ToolEffect>>;
}

/** The AI SDK's record of tools, as its `generateText` and its MCP client's `tools()` have it. */
export function aiSdkTools(
  tools: Readonly<Record<string, AiSdkToolLike>>,
  options: AiSdkToolsOptions = {},
): readonly Tool[] {
  if (typeof tools !== "object" || tools === null || Array.isArray(tools)) {
    throw new TypeError(`aiSdkTools() takes the AI SDK's record of tools, by name, not ${described(tools)}`);
  }
  return Object.entries(tools).map(([name, given]) => {
    const { description, inputSchema, execute, needsApproval } = given;
    if (typeof execute !== "function") {
      throw new TypeError(
        `aiSdkTools(): ${JSON.stringify(name)} has no execute: what a page or a provider runs is no tool here`,
      );
    }
    const { effect = "atMostOnce" } = options;
    const approval =
      typeof needsApproval === "function" ? (needsApproval as (input: unknown, more: object) => boolean) : undefined;
    return tool({
      name: name.replace(/[^a-zA-Z0-9_-]/g, "_"),
      ...(description !== undefined && { description }),
      ...(inputSchema !== undefined && { inputSchema: inputSchema as AnySchema }),
      effect: typeof effect === "string" ? effect : (effect[name] ?? "atMostOnce"),
      needsApproval: approval === undefined ? needsApproval === true : (input: unknown) => approval(input, {}),
      execute: (input, context) => lastOf((execute as Execute)(input, optionsOf(context)), context),
    });
  });
}

type Execute = (input: unknown, options: object) => unknown;

const optionsOf = ({ toolCallId, signal, runtime }: ToolContext): object => ({
  toolCallId,
  messages: [],
  abortSignal: signal,
  experimental_context: runtime,
});

/** An AI SDK tool may give preliminary results: all but the last are progress. */
async function lastOf(result: unknown, { progress }: ToolContext): Promise<unknown> {
  const awaited = await result;
  if (typeof awaited !== "object" || awaited === null || !(Symbol.asyncIterator in awaited)) return awaited;
  let last: unknown;
  let isFirst = true;
  for await (const each of awaited as AsyncIterable<unknown>) {
    if (!isFirst) progress(last);
    isFirst = false;
    last = each;
  }
  return last;
}
