import type { ConversationPort, ShapeContext, ShapedConversation } from "../agent/ports.ts";
import { StateError } from "../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../internal/known-options.ts";
import type { Message } from "../state/message.ts";
import { compactingConversation } from "./compacting.ts";
import type { TokenCounter } from "./estimate-tokens.ts";
import { fingerprint, overlayFor } from "./overlay.ts";
import { planCompaction } from "./plan-compaction.ts";
import { shownUnder } from "./summary-block.ts";

export interface WindowOptions {
  /** The most messages that are shown. */
  readonly maxMessages?: number;
  /** The most tokens of a prompt. */
  readonly maxTokens?: number;
  readonly countTokens?: TokenCounter;
}

const OPTIONS: OptionKinds<WindowOptions> = { maxMessages: "number", maxTokens: "number", countTokens: "function" };

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
  return { shape: async (messages, context) => byCount(messages, context, maxMessages) };
}

function byCount(messages: readonly Message[], { overlay }: ShapeContext, most: number): ShapedConversation {
  const known = overlayFor(messages, overlay);
  const plan = planCompaction(messages, known, {
    of: () => 1,
    beside: 0,
    block: 0,
    nextBlock: () => 0,
    clears: false,
    high: most + 1,
    low: Math.floor(most / 2),
  });
  if (plan === undefined) return { messages: shownUnder(known, messages) };
  const { covers } = plan;
  const next = { ...known, covers, fingerprint: fingerprint(messages, covers), compactions: known.compactions + 1 };
  return { messages: shownUnder(next, messages), overlay: next };
}
