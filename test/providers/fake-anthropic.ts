import {
  type FakeAnswer,
  type FakeBlock,
  type FakeDialect,
  type FakeFailure,
  type FakeProvider,
  type FakeReply,
  halves,
  type RecordedRequest,
  startFakeProvider,
} from "./fake-provider.ts";
import { type AnthropicBlock, type AnthropicBody, faultInAnthropicBody } from "./wire-anthropic.ts";

export const ANTHROPIC_KEY = "sk-ant-fake-0123456789abcdef";

/** Speaks the messages interface, streamed, and refuses what the real one refuses, in its words. */
export const startFakeAnthropic = (replies: readonly FakeReply[]): Promise<FakeProvider> =>
  startFakeProvider(new AnthropicDialect(), replies);

class AnthropicDialect implements FakeDialect {
  /** Signatures and encrypted thoughts, with the thought each of them vouches for. */
  readonly #thoughts = new Map<string, string>();

  refuse({ headers, body }: RecordedRequest): FakeFailure | undefined {
    if (headers["x-api-key"] !== ANTHROPIC_KEY)
      return { status: 401, message: "invalid x-api-key", code: "authentication_error" };
    const fault = faultInAnthropicBody(body as AnthropicBody, (block) => this.#isMine(block));
    return fault === undefined ? undefined : { status: fault.status ?? 400, message: fault.message };
  }

  events({ blocks, finish }: FakeAnswer): readonly object[] {
    const usage = { input_tokens: 60, cache_read_input_tokens: 40, cache_creation_input_tokens: 0, output_tokens: 1 };
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude",
      content: [],
      stop_reason: null,
      usage,
    };
    const finished = blocks.some(({ type }) => type === "tool-call") ? "tool_use" : "end_turn";
    // Anthropic has one word for whatever it does not say.
    const stop_reason = finish === undefined ? finished : finish === "length" ? "max_tokens" : "refusal";
    return [
      { type: "message_start", message },
      { type: "ping" },
      ...blocks.flatMap((block, index) => this.#block(block, index)),
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    ];
  }

  errorEvent(message: string): object {
    return { type: "error", error: { type: "overloaded_error", message } };
  }

  errorBody({ message, code = "invalid_request_error" }: FakeFailure): object {
    return { type: "error", error: { type: code, message } };
  }

  #block(block: FakeBlock, index: number): readonly object[] {
    const [content_block, deltas] = this.#written(block);
    return [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  }

  #written(block: FakeBlock): readonly [object, readonly object[]] {
    if (block.type === "text") {
      return [{ type: "text", text: "" }, halves(block.text).map((text) => ({ type: "text_delta", text }))];
    }
    if (block.type === "tool-call") {
      const { id, name } = block;
      const deltas = halves(JSON.stringify(block.arguments)).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
      return [{ type: "tool_use", id, name, input: {} }, deltas];
    }
    const signature = Buffer.from(`seal ${this.#thoughts.size} \u00e9\u{1f511}+/=`).toString("base64");
    this.#thoughts.set(signature, block.text);
    if (block.text === "") return [{ type: "redacted_thinking", data: signature }, []];
    return [
      { type: "thinking", thinking: "", signature: "" },
      [
        ...halves(block.text).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature },
      ],
    ];
  }

  #isMine({ thinking = "", signature, data }: AnthropicBlock): boolean {
    return this.#thoughts.get(signature ?? data ?? "") === thinking;
  }
}
