import type { ConversationPort } from "../agent/ports.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { StateError } from "../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../internal/known-options.ts";
import { compactingConversation } from "./compacting.ts";
import type { TokenCounter } from "./estimate-tokens.ts";

export interface WindowOptions {
  /** The most messages that are shown. */
  readonly maxMessages?: number;
  /** The most tokens of a prompt. */
  readonly maxTokens?: number;
  readonly countTokens?: TokenCounter;
}

const OPTIONS: OptionKinds<WindowOptions> = { maxMessages: "number", maxTokens: "number", countTokens: "function" };

/** Loaded with the first prompt. */
const shaping = new OpenOnce(() => import("./shaping.ts"));

/**
 * Shows the model the newest part of a conversation and forgets the rest for it;
 * the thread keeps everything. The window does not slide: it is let grow to its
 * limit and then cut to half of it. A window that moves with every call makes a
 * provider read the whole prompt anew each time, which costs more than sending
 * everything.
 */
export function windowConversation(options: WindowOptions): ConversationPort {
  const where = "windowConversation()";
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${where} takes an options object, not ${described(options)}`);
  }
  assertKnownOptions(where, options, OPTIONS);
  const { maxMessages, maxTokens, countTokens } = options;
  if ((maxMessages === undefined) === (maxTokens === undefined)) {
    throw new StateError("INVALID_ARGUMENT", `${where} needs maxMessages or maxTokens, one of the two`);
  }
  if (maxMessages === undefined) {
    const counter = countTokens === undefined ? {} : { countTokens };
    return compactingConversation({ summarize: false, ...(maxTokens !== undefined && { maxTokens }), ...counter });
  }
  if (!Number.isInteger(maxMessages) || maxMessages < 2) {
    throw new StateError("INVALID_ARGUMENT", `${where}: maxMessages must be a whole number from 2 on`);
  }
  return {
    shape: async (messages, context) => (await shaping.get()).newestByCount(messages, context, maxMessages),
  };
}
