import type { AgentState } from "../state/agent-state.ts";
import { type Message, textOf } from "../state/message.ts";
import { subjectsOfMessage } from "../state/people/subjects.ts";
import type { Fact, MemoryType } from "./memory.ts";
import { areSamePeople, peopleIn } from "./owner.ts";

/** Takes facts out of what was said. What it returns is checked before anything is stored. */
export interface Extractor {
  /** Kept with every memory: which model, or which rules. */
  readonly name: string;
  extract(request: ExtractRequest): Promise<readonly unknown[]>;
}

export interface ExtractRequest {
  /** What was said since the last time. Tool output, summaries and recalled notes are never among it. */
  readonly messages: readonly ExtractableMessage[];
  /**
   * The facts that are already remembered, so that a correction is recognised as one.
   */
  readonly known: readonly KnownFact[];
  readonly signal: AbortSignal;
}

export interface ExtractableMessage {
  /** Its place in the thread; what `Fact.message` refers to. */
  readonly index: number;
  readonly id?: string;
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface KnownFact {
  readonly type: MemoryType;
  readonly subject: string;
  readonly attribute: string;
  readonly value: string;
}

export type ExtractFunction = (request: ExtractRequest) => Promise<readonly Fact[]>;

/** So much of one message is looked at, and so much at a time; the rest comes the next time. */
const LONGEST_MESSAGE = 8_000;
const LONGEST_BATCH = 32_000;
const MOST_MESSAGES = 60;

/**
 * The messages from `from` on that facts about these people may be taken from, and where the next batch begins. In a
 * thread that several people share, one person's words give no memory of another.
 */
export function extractable(
  { messages, metadata }: Pick<AgentState, "messages" | "metadata">,
  from: number,
  people: readonly string[],
): { readonly batch: readonly ExtractableMessage[]; readonly next: number } {
  const batch: ExtractableMessage[] = [];
  const ofThread = metadata["subject"];
  let [left, next] = [LONGEST_BATCH, from];
  for (; next < messages.length; next++) {
    const message = messages[next];
    if (message === undefined || !isSaid(message)) continue;
    if (!areSamePeople(peopleIn(subjectsOfMessage(message) ?? ofThread), people)) continue;
    const text = textOf(message).slice(0, LONGEST_MESSAGE);
    if (text.trim() === "") continue;
    left -= text.length;
    if (batch.length === MOST_MESSAGES || left < 0) break;
    batch.push({ index: next, role: message.role, text, ...(message.id !== undefined && { id: message.id }) });
  }
  return { batch, next };
}

/** Said by the user or the model themselves. What the agent put in between bears a mark of ours. */
function isSaid(message: Message): message is Message & { readonly role: "user" | "assistant" } {
  if (message.role !== "user" && message.role !== "assistant") return false;
  return !Object.keys(message.metadata ?? {}).some((name) => name.startsWith("holdfast."));
}
