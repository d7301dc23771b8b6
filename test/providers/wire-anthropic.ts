import { assertNoWireFault, firstFault, TOOL_NAME, type WireFault } from "./wire-fault.ts";

/** The part of a messages request that its rules are about. */
export interface AnthropicBody {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly AnthropicBlock[] }[];
  readonly max_tokens?: number;
  readonly thinking?: { readonly type: string };
}

export interface AnthropicBlock {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
}

/** Whether a thought, with this signature, is one that the provider issued. Without it, signatures are not judged. */
export type KnowsThought = (block: AnthropicBlock) => boolean;

export function assertValidAnthropicBody(body: AnthropicBody, knows: KnowsThought = () => true): void {
  assertNoWireFault("Anthropic", faultInAnthropicBody(body, knows));
}

export function faultInAnthropicBody(body: AnthropicBody, knows: KnowsThought = () => true): WireFault | undefined {
  return firstFault(checks(body, knows));
}

interface Turn {
  readonly role: string;
  readonly blocks: readonly AnthropicBlock[];
}

function* checks(body: AnthropicBody, knows: KnowsThought): Generator<WireFault | undefined> {
  if (body.max_tokens === undefined) yield { message: "max_tokens: Field required" };
  const turns = body.messages.map(({ role, content }) => ({
    role,
    blocks: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  if (turns.length === 0) yield { message: "messages: at least one message is required" };
  if (turns[0]?.role === "assistant") yield { message: 'messages: first message must use the "user" role' };
  for (const [index, turn] of turns.entries()) {
    yield turnFault(turn, index);
    for (const [at, block] of turn.blocks.entries()) yield blockFault(block, `messages.${index}.content.${at}`, knows);
  }
  yield pairingFault(turns);
  yield thinkingFault(body, turns);
  if (turns.at(-1)?.role === "assistant") {
    yield {
      message: "This model does not support assistant message prefill. The conversation must end with a user message.",
    };
  }
}

function turnFault({ role, blocks }: Turn, index: number): WireFault | undefined {
  if (role !== "user" && role !== "assistant") {
    return {
      message: `messages: Unexpected role "${role}". The Messages API accepts a top-level \`system\` parameter.`,
    };
  }
  if (blocks.length === 0) {
    return {
      message: `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    };
  }
  if (role === "assistant" && /^(?:redacted_)?thinking$/.test(blocks.at(-1)?.type ?? "")) {
    return { message: `messages.${index}: The final block in an assistant message cannot be \`thinking\`.` };
  }
  return undefined;
}

function blockFault(block: AnthropicBlock, at: string, knows: KnowsThought): WireFault | undefined {
  switch (block.type) {
    case "text":
      if (block.text === "") return { message: "messages: text content blocks must be non-empty" };
      return block.text?.trim() === ""
        ? { message: "messages: text content blocks must contain non-whitespace text" }
        : undefined;
    case "thinking":
    case "redacted_thinking":
      return knows(block) ? undefined : { message: `${at}: Invalid \`signature\` in \`thinking\` block` };
    case "tool_use":
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id ?? "")) {
        return { message: `${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'` };
      }
      if (!TOOL_NAME.test(block.name ?? "")) {
        return { message: `${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'` };
      }
      return typeof block.input === "object" && block.input !== null && !Array.isArray(block.input)
        ? undefined
        : { message: `${at}.tool_use.input: Input should be a valid dictionary` };
    default:
      return undefined;
  }
}

function pairingFault(turns: readonly Turn[]): WireFault | undefined {
  const used = new Set<string>();
  for (const [index, { role, blocks }] of turns.entries()) {
    const results = blocks.filter((block) => block.type === "tool_result").map((block) => block.tool_use_id ?? "");
    const asked = idsOf(turns[index - 1]);
    const unexpected = results.find((id) => role !== "user" || !asked.includes(id));
    if (unexpected !== undefined) {
      return {
        message:
          `messages.${index}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unexpected}. ` +
          "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
      };
    }
    const twice = results.find((id, at) => results.indexOf(id) !== at);
    if (twice !== undefined) {
      return {
        message: `messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
      };
    }
    const missing = asked.filter((id) => !results.includes(id));
    if (missing.length > 0) return unanswered(index - 1, missing);
    for (const id of idsOf({ role, blocks })) {
      if (used.has(id)) return { message: "messages: `tool_use` ids must be unique" };
      used.add(id);
    }
  }
  const last = idsOf(turns.at(-1));
  return last.length > 0 ? unanswered(turns.length - 1, last) : undefined;
}

const idsOf = (turn: Turn | undefined): readonly string[] =>
  turn?.role === "assistant" ? turn.blocks.filter(({ type }) => type === "tool_use").map(({ id = "" }) => id) : [];

const unanswered = (index: number, ids: readonly string[]): WireFault => ({
  message:
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. ` +
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
});

/** While a tool is being used, the thought that asked for it must still be there. */
function thinkingFault({ thinking }: AnthropicBody, turns: readonly Turn[]): WireFault | undefined {
  if (thinking?.type !== "enabled") return undefined;
  const index = turns.findLastIndex(({ role }) => role === "assistant");
  const first = turns[index]?.blocks[0]?.type;
  if (idsOf(turns[index]).length === 0 || first === "thinking" || first === "redacted_thinking") return undefined;
  return {
    message:
      `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. ` +
      "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
  };
}
