import { type CallPlace, type Tool, type ToolContext, type ToolEffect, tool } from "../../agent/tool-call/tool.ts";
import { toolContent } from "../../agent/tool-call/tool-result.ts";
import { described } from "../../internal/known-options.ts";
import { type AnySchema, readySchema } from "../../models/schema.ts";
import type { FilePart, Message, TextPart } from "../../state/message.ts";

/** The part of the AI SDK's `tool()` that is used, of its versions 6 and 7. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly strict?: boolean | undefined;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: ((ended: never) => unknown) | undefined;
  readonly contextSchema?: unknown;
}

export interface AiSdkToolsOptions {
  /** What a call may do, for all of them or by name. @default "atMostOnce" */
  readonly effect?: ToolEffect | Readonly<Record<string, ToolEffect>>;
  /** What each tool is given as `context`, by its name. A tool that is not named gets the run's `runtime`. */
  readonly toolsContext?: Readonly<Record<string, unknown>>;
}

/** The AI SDK's record of tools, as its `generateText` and its MCP client's `tools()` have it. */
export function aiSdkTools(
  tools: Readonly<Record<string, AiSdkToolLike>>,
  options: AiSdkToolsOptions = {},
): readonly Tool[] {
  if (typeof tools !== "object" || tools === null || Array.isArray(tools)) {
    throw new TypeError(`aiSdkTools() takes the AI SDK's record of tools, by name, not ${described(tools)}`);
  }
  return Object.entries(tools).map(([name, given]) => asTool(name, given, options));
}

function asTool(name: string, given: AiSdkToolLike, { effect = "atMostOnce", toolsContext }: AiSdkToolsOptions): Tool {
  const { description, inputSchema, strict, execute, needsApproval } = given;
  if (typeof execute !== "function") {
    throw new TypeError(
      `aiSdkTools(): ${JSON.stringify(name)} has no execute: what a page or a provider runs is no tool here`,
    );
  }
  const contextOf = toolContextOf(name, given, toolsContext);
  const described = description as string | ((place: object) => string) | undefined;
  const run = execute as (input: unknown, options: object) => unknown;
  return tool({
    name: name.replace(/[^a-zA-Z0-9_-]/g, "_"),
    ...(described !== undefined && {
      description:
        typeof described === "function"
          ? async ({ runtime }) => described({ context: await contextOf(runtime) })
          : described,
    }),
    ...(inputSchema !== undefined && { inputSchema: inputSchema as AnySchema }),
    ...(strict !== undefined && { strict }),
    effect: typeof effect === "string" ? effect : (effect[name] ?? "atMostOnce"),
    needsApproval:
      typeof needsApproval === "function"
        ? async (input: unknown, place) => (await needsApproval(input, await placeOf(place, contextOf))) === true
        : needsApproval === true,
    execute: async (input, context) => {
      const options = { ...(await placeOf(context, contextOf)), abortSignal: context.signal };
      const output = await lastOf(run(input, options), context);
      return shownOf(given, { toolCallId: context.toolCallId, input, output });
    },
  });
}

/** What the tool is given as its context, checked by its own schema where it has one. */
function toolContextOf(
  name: string,
  { contextSchema }: AiSdkToolLike,
  toolsContext: AiSdkToolsOptions["toolsContext"],
): (runtime: unknown) => Promise<unknown> {
  const where = `aiSdkTools(): the context of ${JSON.stringify(name)}`;
  const schema = contextSchema === undefined ? undefined : readySchema(contextSchema as AnySchema, where);
  return async (runtime) => {
    const context = toolsContext !== undefined && Object.hasOwn(toolsContext, name) ? toolsContext[name] : runtime;
    const checked = await schema?.check(context);
    if (checked === undefined) return context;
    if ("value" in checked) return checked.value;
    const advice = "hand it in as toolsContext, or as the run's runtime";
    throw new TypeError(`${where} does not fit its contextSchema: ${checked.faults.join("; ")}; ${advice}`);
  };
}

/** What both majors hand to a tool. The sixth calls the context `experimental_context`. */
async function placeOf(place: CallPlace, contextOf: (runtime: unknown) => Promise<unknown>): Promise<object> {
  const context = await contextOf(place.runtime);
  return {
    toolCallId: place.toolCallId,
    get messages() {
      return place.messages.flatMap(asModelMessage);
    },
    context,
    experimental_context: context,
  };
}

/** A message as the AI SDK's `ModelMessage`, without the system prompt. */
function asModelMessage(message: Message): readonly object[] {
  if (message.role === "system") return [];
  const { content } = message;
  if (message.role === "tool") {
    const { toolCallId, toolName, isError } = message;
    const value =
      typeof content === "string" ? content : content.flatMap((part) => ("text" in part ? part.text : [])).join("\n");
    const output = { type: isError === true ? "error-text" : "text", value };
    return [{ role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] }];
  }
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content.map(asPart);
  if (message.role === "user") return [{ role: "user", content: parts }];
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: input }) => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input,
  }));
  return [{ role: "assistant", content: [...parts, ...calls] }];
}

function asPart(part: Exclude<Message["content"], string>[number]): object {
  if (part.type !== "file") return { type: part.type, text: part.text };
  const { data, mediaType, filename } = part;
  const named = filename === undefined ? {} : { filename };
  return { type: "file", mediaType, ...named, data: data instanceof Uint8Array ? data : new URL(data.url) };
}

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

interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
  readonly reason?: string;
}

/** What the model is shown in place of the output, where the tool says so: it may hide what only the program needs. */
async function shownOf(
  { toModelOutput }: AiSdkToolLike,
  ended: { readonly toolCallId: string; readonly input: unknown; readonly output: unknown },
): Promise<unknown> {
  const { output } = ended;
  if (typeof toModelOutput !== "function") return output;
  const { type, value, reason } = (await toModelOutput(ended as never)) as ModelOutput;
  switch (type) {
    case "text":
      return toolContent([{ type: "text", text: String(value) }], output);
    case "json":
      return toolContent([{ type: "text", text: JSON.stringify(value) ?? "null" }], output);
    case "content":
      return toolContent((value as readonly ContentItem[]).map(partOf), output);
    case "error-text":
      throw new Error(String(value));
    case "error-json":
      throw new Error(JSON.stringify(value));
    case "execution-denied":
      throw new Error(reason ?? "The tool refused the call.");
    default:
      throw new TypeError(`toModelOutput() returned an output of type ${JSON.stringify(type)}, which is not known`);
  }
}

interface ContentItem {
  readonly type: string;
  readonly text?: string;
  readonly data?:
    | string
    | Uint8Array
    | { readonly type: string; readonly data?: string | Uint8Array; readonly url?: URL };
  readonly url?: string;
  readonly mediaType?: string;
  readonly filename?: string;
}

/** One part of a result: texts, and files by their bytes or their address, under the names of both majors. */
function partOf({
  type,
  text,
  data,
  url,
  mediaType = "application/octet-stream",
  filename,
}: ContentItem): TextPart | FilePart {
  if (type === "text") return { type: "text", text: text ?? "" };
  const named = filename === undefined ? {} : { filename };
  const inner = typeof data === "object" && !(data instanceof Uint8Array) ? data : undefined;
  const bytes = inner === undefined ? data : inner.data;
  const address = url ?? inner?.url?.toString();
  if (typeof bytes === "string") return { type: "file", mediaType, ...named, data: Buffer.from(bytes, "base64") };
  if (bytes instanceof Uint8Array) return { type: "file", mediaType, ...named, data: bytes };
  if (address !== undefined) return { type: "file", mediaType, ...named, data: { url: address } };
  // Named, so that the model knows what it was not shown.
  return { type: "text", text: `[${type}]` };
}
