import { OutcomeUnknown, toolContent } from "../../agent/tool-call/tool-result.ts";
import { reasonOf } from "../../errors.ts";
import type { FilePart, TextPart } from "../../state/message.ts";

interface McpResult {
  readonly isError?: boolean;
  readonly content?: readonly McpContent[];
  readonly structuredContent?: unknown;
}

interface McpContent {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: {
    readonly uri?: string;
    readonly mimeType?: string;
    readonly text?: string;
    readonly blob?: string;
  };
}

/** Everything that a server gave: texts, pictures, sounds, resources, and the value beside them. */
export function mcpContent(result: unknown): unknown {
  const { isError, content = [], structuredContent } = result as McpResult;
  const parts = content.map(partOf);
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (isError === true) throw new Error(text || "the tool reported an error without words");
  const isPlain = parts.every(({ type }) => type === "text");
  if (isPlain && structuredContent === undefined) return text;
  const said = isPlain && text === "" ? JSON.stringify(structuredContent) : text;
  return toolContent(isPlain ? [{ type: "text", text: said }] : parts, structuredContent);
}

function partOf({ type, text, data, mimeType, uri, name, resource }: McpContent): TextPart | FilePart {
  if (type === "text") return { type: "text", text: text ?? "" };
  if ((type === "image" || type === "audio") && data !== undefined) {
    return { type: "file", mediaType: mimeType ?? "application/octet-stream", data: bytesOf(data) };
  }
  if (type === "resource" && resource?.blob !== undefined) {
    const { blob, mimeType: kind = "application/octet-stream", uri: filename } = resource;
    return { type: "file", mediaType: kind, data: bytesOf(blob), ...(filename !== undefined && { filename }) };
  }
  if (type === "resource") return { type: "text", text: `[${resource?.uri ?? "resource"}]\n${resource?.text ?? ""}` };
  if (type === "resource_link") return { type: "text", text: `[${[name, uri].filter(Boolean).join(" ")}]` };
  // Named, so that the model knows what it did not get to see.
  return { type: "text", text: `[${type}]` };
}

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

/** JSON-RPC's codes for a connection that closed and for a time-out: the request was sent, and nothing is known of it. */
const LOST: ReadonlySet<unknown> = new Set([-32000, -32001]);
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|NOT_CONNECTED|NOT_INITIALIZED|CAPABILITY_NOT_SUPPORTED)$/;
/** The SDK's second generation has its own codes for answers outside the protocol: here the server refused access. */
const TURNED_AWAY: ReadonlySet<unknown> = new Set(["CLIENT_HTTP_AUTHENTICATION", "CLIENT_HTTP_FORBIDDEN"]);

/** What happened to a call without an answer: the server refused it, it was never sent, or the outcome is unknown. */
export function asOutcome(error: unknown): never {
  const {
    code,
    cause,
    message = "",
  } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly code?: unknown;
    readonly cause?: { readonly code?: unknown };
    readonly message?: string;
  };
  const isAnswered = typeof code === "number" && !LOST.has(code) && (code < 0 || (code >= 400 && code < 500));
  const isUnsent = message === "Not connected" || NEVER_SENT.test(String(cause?.code ?? code ?? ""));
  if (isAnswered || isUnsent || TURNED_AWAY.has(code)) throw error;
  throw new OutcomeUnknown(
    `The connection to the tool's server was lost during the call (${reasonOf(error)}); it may have taken effect.`,
  );
}
