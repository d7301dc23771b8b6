import type { ConversationPort, ObservedCall } from "../agent/ports.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { StateError } from "../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../internal/known-options.ts";
import { calibrate } from "./calibrate.ts";
import { estimateTokens, type TokenCounter } from "./estimate-tokens.ts";
import { MessageTokens } from "./message-tokens.ts";
import { type Overlay, storedOverlay } from "./overlay.ts";
import type { Summarizer } from "./summarize.ts";

export interface CompactingOptions {
  /** The most a prompt may have, in tokens. @default the model's window, else 128000 */
  readonly maxTokens?: number;
  /** At this part of it the conversation is compacted … @default 0.8 */
  readonly compactAt?: number;
  /** … down to this part. In between nothing moves, so that provider caches fit. @default 0.4 */
  readonly compactTo?: number;
  /**
   * What writes the summary: the agent's own model, a function of yours, or nothing (`false`). @default "model"
   */
  readonly summarize?: "model" | Summarizer | false;
  /** The longest summary. @default a tenth of `maxTokens` */
  readonly maxSummaryTokens?: number;
  /**
   * After this many compactions the summary is made from the log again and not from itself. @default 5
   */
  readonly rebuildEvery?: number;
  /** Replaces the estimate. */
  readonly countTokens?: TokenCounter;
}

const OPTIONS: OptionKinds<CompactingOptions> = {
  maxTokens: "number",
  compactAt: "number",
  compactTo: "number",
  summarize: ["string", "function", "boolean"],
  maxSummaryTokens: "number",
  rebuildEvery: "number",
  countTokens: "function",
};

/** Loaded with the first prompt. */
const shaping = new OpenOnce(() => import("./shaping.ts"));

/**
 * Shows the model a long conversation as a summary and its newest part. The
 * thread keeps every message; the summary is saved beside them and used until the
 * prompt has grown to its limit again. It has no memory of its own: one object
 * serves any number of threads.
 */
export function compactingConversation(options: CompactingOptions = {}): ConversationPort {
  assertCompactingOptions(options);
  const tokens = new MessageTokens(options.countTokens ?? estimateTokens);
  return {
    shape: async (messages, context) => {
      const { Compaction } = await shaping.get();
      return new Compaction(options, tokens).shape(messages, context);
    },
    observe: (call) => observed(call, tokens),
  };
}

/** How far the estimate was off, for the next prompt. */
function observed({ request, usage, overlay }: ObservedCall, tokens: MessageTokens): Overlay | undefined {
  const known = storedOverlay(overlay);
  const estimated = tokens.ofAll(request.messages) + tokens.ofTools(request.tools);
  const ratio = calibrate(known.ratio, estimated, usage.inputTokens);
  return ratio === undefined ? undefined : { ...known, ratio };
}

function assertCompactingOptions(options: CompactingOptions): void {
  const where = "compactingConversation()";
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${where} takes an options object, not ${described(options)}`);
  }
  assertKnownOptions(where, options, OPTIONS);
  const { compactAt = 0.8, compactTo = 0.4, summarize, maxTokens, maxSummaryTokens, rebuildEvery } = options;
  if (!(compactTo > 0 && compactTo < compactAt && compactAt <= 1)) {
    throw new StateError("INVALID_ARGUMENT", `${where}: 0 < compactTo < compactAt <= 1 must hold`);
  }
  if (![undefined, false, "model"].includes(summarize as string) && typeof summarize !== "function") {
    throw new StateError("INVALID_ARGUMENT", `${where}: summarize must be "model", a function, or false`);
  }
  for (const [name, value] of Object.entries({ maxTokens, maxSummaryTokens, rebuildEvery })) {
    if (value !== undefined && !(value >= 1)) {
      throw new StateError("INVALID_ARGUMENT", `${where}: ${name} must be a number from 1 on`);
    }
  }
}
