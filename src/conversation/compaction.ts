import type { ShapeContext, ShapedConversation } from "../agent/ports.ts";
import type { ModelUsage } from "../models/model.ts";
import type { Message } from "../state/message.ts";
import type { CompactingOptions } from "./compacting.ts";
import type { MessageTokens } from "./message-tokens.ts";
import { fingerprint, type Overlay, overlayFor } from "./overlay.ts";
import { type Measures, type Plan, planCompaction } from "./plan-compaction.ts";
import { newestWithin, standingWords } from "./standing-words.ts";
import { modelSummarizer } from "./summarize.ts";
import { shownUnder, summaryBlock } from "./summary-block.ts";
import { type WrittenSummary, writeSummary } from "./write-summary.ts";

const DEFAULT_WINDOW = 128_000;
/** What the user's standing words may take of the prompt. */
const STANDING_SHARE = 0.1;
const MOST_FAILURES = 3;
/** What a request for a summary may hold of the conversation: the rest is for the summaries, the old and the new. */
const REQUEST_SHARE = 0.7;

/** One prompt of a conversation that may have to be compacted. */
export class Compaction {
  readonly #options: CompactingOptions;
  readonly #tokens: MessageTokens;

  constructor(options: CompactingOptions, tokens: MessageTokens) {
    this.#options = options;
    this.#tokens = tokens;
  }

  async shape(messages: readonly Message[], context: ShapeContext): Promise<ShapedConversation> {
    const known = overlayFor(messages, context.overlay);
    const measures = this.#measures(known, context);
    const plan = planCompaction(messages, known, measures);
    if (plan === undefined) return { messages: shownUnder(known, messages) };
    const { overlay, usage } = await this.#compacted(messages, known, plan, context);
    return { messages: shownUnder(overlay, messages), overlay, ...(usage !== undefined && { usage }) };
  }

  #measures(known: Overlay, context: ShapeContext): Measures {
    const { compactAt = 0.8, compactTo = 0.4 } = this.#options;
    const tokens = this.#tokens;
    const ratio = known.ratio ?? 1;
    const limit = this.#limit(context);
    const beside = tokens.ofAll(context.system) + tokens.ofAll(context.recalled) + tokens.ofTools(context.tools);
    return {
      of: (message) => tokens.of(message) * ratio,
      beside: beside * ratio,
      block: known.covers === 0 ? 0 : tokens.of(summaryBlock(known)) * ratio,
      nextBlock: () => {
        const { messages } = context.state;
        const words = standingWords(messages, known.standing, messages.slice(known.covers));
        const size = words.reduce((sum, text) => sum + tokens.ofText(text), 0);
        return this.#summaryTokens(context) + Math.min(size * ratio, limit * STANDING_SHARE);
      },
      clears: true,
      high: limit * compactAt,
      low: limit * compactTo,
    };
  }

  /** The new overlay. Trouble with the summary is a warning: the conversation is cut all the same, or the model would refuse it. */
  async #compacted(
    messages: readonly Message[],
    known: Overlay,
    plan: Plan,
    context: ShapeContext,
  ): Promise<{ overlay: Overlay; usage?: ModelUsage }> {
    const { covers, clearedBefore, before, after } = plan;
    const next = {
      ...known,
      clearedBefore,
      compactions: known.compactions + 1,
      tokensBefore: Math.round(before),
      tokensAfter: Math.round(after),
    };
    if (covers === known.covers) return { overlay: next };
    const { text, standing, upTo, usage } = await this.#summary(messages, known, covers, context);
    const room = (this.#limit(context) * STANDING_SHARE) / (known.ratio ?? 1);
    const undecided = messages.slice(Math.max(upTo, known.covers), covers);
    const words = standingWords(messages.slice(0, covers), standing, undecided);
    const kept = newestWithin(words, room, (text) => this.#tokens.ofText(text));
    const cut = { ...next, covers, fingerprint: fingerprint(messages, covers), standing: kept };
    const isBehind = this.#options.summarize !== false && upTo < covers;
    const author = upTo === known.summarizes ? known.model : context.model.id;
    return {
      overlay: { ...cut, summary: text, summarizes: upTo, failures: isBehind ? known.failures + 1 : 0, model: author },
      ...(usage !== undefined && { usage }),
    };
  }

  /** Where it fails, the old one: what it lacks is in the next, because fewer messages are summarised than are covered. */
  async #summary(
    messages: readonly Message[],
    known: Overlay,
    covers: number,
    context: ShapeContext,
  ): Promise<WrittenSummary> {
    const { summarize = "model", rebuildEvery = 5 } = this.#options;
    // Something in there cannot be summarised. It must not keep all that follows out of the summary for ever.
    const isGivenUp = known.failures >= MOST_FAILURES;
    const upTo = isGivenUp ? known.covers : known.summarizes;
    const before = { text: known.summary, standing: known.standing, upTo };
    if (summarize === false) return { ...before, usage: undefined };
    const ratio = known.ratio ?? 1;
    const maxTokens = this.#summaryTokens(context);
    const writing = {
      write: typeof summarize === "function" ? summarize : modelSummarizer(context.model),
      tokens: this.#tokens,
      perRequest: (this.#limit(context) * REQUEST_SHARE) / ratio,
      maxTokens,
      signal: context.signal,
      warn: context.warn,
    };
    // A summary of summaries drifts. From time to time it is made anew from what was really said, if that fits.
    const whole = this.#tokens.ofAll(messages.slice(0, covers));
    if ((known.compactions + 1) % rebuildEvery === 0 && whole <= writing.perRequest) {
      const rebuilt = await writeSummary(messages, { text: "", standing: [], upTo: 0 }, covers, writing);
      return rebuilt.upTo === 0 ? { ...before, usage: rebuilt.usage } : rebuilt;
    }
    return writeSummary(messages, before, covers, writing);
  }

  #limit({ contextWindow }: ShapeContext): number {
    return this.#options.maxTokens ?? contextWindow ?? DEFAULT_WINDOW;
  }

  #summaryTokens(context: ShapeContext): number {
    if (this.#options.summarize === false) return 0;
    return this.#options.maxSummaryTokens ?? Math.ceil(this.#limit(context) / 10);
  }
}
