/**
 * One message of a thread. This is our own format and never a provider's. Adapters
 * convert at the boundary and keep what a provider needs back (reasoning signatures,
 * item ids) in `providerMetadata`, which round-trips.
 */

export type ProviderMetadata = Readonly<Record<string, unknown>>;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  /** The bytes themselves, or where they are. */
  readonly data: Uint8Array | { readonly url: string };
  readonly filename?: string;
  readonly providerMetadata?: ProviderMetadata;
}

export type ContentPart = TextPart | ReasoningPart | FilePart;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /**
   * Set if the model's text could not be parsed as arguments. The call is then
   * answered with this instead of being run.
   */
  readonly invalid?: string;
  readonly providerMetadata?: ProviderMetadata;
}

interface MessageFields {
  /** Stable across saves and loads. Provenance and search hits refer to it. */
  readonly id?: string;
  readonly content: string | readonly ContentPart[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly providerMetadata?: ProviderMetadata;
}

export interface SystemMessage extends MessageFields {
  readonly role: "system";
}

export interface UserMessage extends MessageFields {
  readonly role: "user";
  readonly name?: string;
}

export interface AssistantMessage extends MessageFields {
  readonly role: "assistant";
  readonly toolCalls?: readonly ToolCall[];
  /** Set when the model's stream ended before it finished. */
  readonly incomplete?: boolean;
  /** Why the model stopped, if it did not simply finish. */
  readonly finishReason?: UnusualFinish;
}

/**
 * `length`: the output limit was reached. `content-filter`: the provider cut it
 * off. `refusal`: the model declined to answer. `error`: the model reported a
 * failure. `empty`: it finished without saying anything. `other`: a reason of the
 * provider's own. `guarded`: a guard of the agent's replaced what the model said.
 */
export type UnusualFinish = "length" | "content-filter" | "refusal" | "error" | "empty" | "other" | "guarded";

export interface ToolMessage extends MessageFields {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly isError?: boolean;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

type Extras<M extends Message> = Omit<M, "role" | "content">;

export const systemMessage = (content: string, extras?: Extras<SystemMessage>): SystemMessage => ({
  role: "system",
  content,
  ...extras,
});

export const userMessage = (content: UserMessage["content"], extras?: Extras<UserMessage>): UserMessage => ({
  role: "user",
  content,
  ...extras,
});

export const assistantMessage = (
  content: AssistantMessage["content"],
  extras?: Extras<AssistantMessage>,
): AssistantMessage => ({ role: "assistant", content, ...extras });

export const toolMessage = (content: ToolMessage["content"], extras: Extras<ToolMessage>): ToolMessage => ({
  role: "tool",
  content,
  ...extras,
});

/** Whether a message says anything. Reasoning alone does not count: the answer was cut off before it came. */
export function hasContent({ content }: Message): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some((part) => part.type === "file" || (part.type === "text" && part.text.trim() !== ""));
}

/** The words of a message: its text parts, joined. Reasoning and files contribute nothing. */
export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return message.content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n");
}
