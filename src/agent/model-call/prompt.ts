import { described } from "../../internal/known-options.ts";
import type { ModelRequest, ModelTool, ModelUsage } from "../../models/model.ts";
import { type Message, systemMessage } from "../../state/message.ts";
import type { ShapedConversation } from "../ports.ts";
import type { RunContext } from "../run/run-context.ts";
import { subjectIn } from "../run/run-subject.ts";
import { askedIn } from "../run/turn-number.ts";
import { HistoryRepair } from "./repair-history.ts";

/**
 * What a model is shown in one run: the system prompt, the conversation as the
 * port shapes it, and what was recalled, right before the message it was
 * recalled for. In that order a prompt begins as the one before it did.
 */
export class Prompt {
  readonly #history = new HistoryRepair();
  #asked: Message | undefined;
  #recalled: readonly Message[] | undefined;
  #usage: ModelUsage | undefined;

  /** Everything that was recalled for the message that the run is about. */
  get recalled(): readonly Message[] {
    return this.#recalled ?? [];
  }

  async messages(context: RunContext, tools: readonly ModelTool[]): Promise<readonly Message[]> {
    const systemPrompt = await systemPromptOf(context);
    const system = systemPrompt === undefined ? [] : [systemMessage(systemPrompt)];
    const recalled = await this.#recall(context);
    const shaped = await this.#shape(context, { system, recalled, tools });
    return this.#history.repair(placed(shaped, recalled, this.#asked), system);
  }

  /** Lets the conversation port learn from what the model counted. Trouble with that is a warning. */
  async observe({ parts, session, emit }: RunContext, request: ModelRequest, usage: ModelUsage): Promise<void> {
    this.#usage = usage;
    try {
      const { overlay: known } = session.state;
      const overlay = await parts.conversation.observe?.({ request, usage, overlay: known });
      if (overlay !== undefined) session.change((state) => state.with({ overlay }));
    } catch (error) {
      emit({ type: "warning", where: "conversation", error });
    }
  }

  /** Once for each message of the user's: what a run does in between must not change the prompt's beginning. */
  async #recall({ parts, session, threadId, metadata, signal, emit }: RunContext): Promise<readonly Message[]> {
    const { state } = session;
    const asked = askedIn(state);
    if (this.#recalled !== undefined && asked === this.#asked) return this.#recalled;
    this.#asked = asked;
    try {
      this.#recalled = await parts.memory.recall({ state, subject: subjectIn(state), threadId, metadata, signal });
    } catch (error) {
      emit({ type: "warning", where: "memory", error });
      this.#recalled = [];
    }
    return this.#recalled;
  }

  async #shape(
    { parts, session, limits, threadId, signal, emit }: RunContext,
    beside: { system: readonly Message[]; recalled: readonly Message[]; tools: readonly ModelTool[] },
  ): Promise<readonly Message[]> {
    const { state } = session;
    const given = await parts.conversation.shape(state.messages, {
      ...beside,
      threadId,
      state,
      overlay: state.overlay,
      model: parts.model,
      contextWindow: parts.model.contextWindow,
      usage: this.#usage,
      signal,
      warn: (error) => emit({ type: "warning", where: "conversation", error }),
    });
    if (isList(given)) return given;
    const { messages, overlay, usage } = given;
    if (overlay !== undefined) session.change((changed) => changed.with({ overlay }));
    if (usage !== undefined) {
      limits.countUsage(usage);
      session.change((changed) => changed.withUsage({ ...usage }));
    }
    return messages;
  }
}

async function systemPromptOf({
  parts,
  session,
  threadId,
  metadata,
  runtime,
}: RunContext): Promise<string | undefined> {
  const { systemPrompt } = parts;
  if (typeof systemPrompt !== "function") return systemPrompt;
  const text: unknown = await systemPrompt({ state: session.state, threadId, metadata, runtime });
  if (typeof text === "string") return text;
  throw new TypeError(`systemPrompt() must return a text, not ${described(text)}`);
}

const isList = (given: readonly Message[] | ShapedConversation): given is readonly Message[] => Array.isArray(given);

/** Before the message it was recalled for; at the end if a user's own port shows that message in another form. */
function placed(
  shaped: readonly Message[],
  recalled: readonly Message[],
  asked: Message | undefined,
): readonly Message[] {
  if (recalled.length === 0) return shaped;
  let place = shaped.length - 1;
  while (place >= 0 && shaped[place] !== asked) place--;
  // A spread, because the methods of a frozen list are slow.
  const messages = [...shaped];
  messages.splice(place === -1 ? shaped.length : place, 0, ...recalled);
  return messages;
}
