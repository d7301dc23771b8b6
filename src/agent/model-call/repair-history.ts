import { knownInCommon } from "../../state/growing-list.ts";
import {
  type AssistantMessage,
  type ContentPart,
  hasContent,
  type Message,
  systemMessage,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolMessage,
  userMessage,
} from "../../state/message.ts";
import { isPlainObject } from "../../state/values/doorway.ts";

/**
 * What a provider receives. Whatever a crash, an edit or an import left behind, the
 * result keeps the rules that all of them enforce: every tool call has an id of its
 * own, an acceptable name, an object of arguments, and exactly one result, right after
 * the message that made the call; no result without a call; no message without content;
 * the user speaks first; one system message, at the start. The stored conversation is
 * not touched. Repairing twice changes nothing more.
 */
export function repairHistory(messages: readonly Message[]): readonly Message[] {
  // A state has no length either, and would become an empty conversation.
  if (!Array.isArray(messages)) throw new TypeError("repairHistory() takes a list of messages, such as state.messages");
  return new HistoryRepair().repair(messages);
}

/**
 * The same for a conversation that grows: what was repaired before is not looked
 * at again, so that an iteration costs what it adds. A conversation that is not
 * a continuation of the one before is repaired from its beginning.
 */
export class HistoryRepair {
  /** The conversation that was repaired last. */
  #latest: readonly Message[] = [];
  /** Its messages before the last one of the model's, which later results may still belong to. */
  #settled: Message[] = [];
  /** What became of those. */
  #repaired: Message[] = [];
  #system: Message[] = [];
  #usedIds = new Set<string>();

  repair(messages: readonly Message[], system: readonly Message[] = []): readonly Message[] {
    if (!this.#isContinuedBy(messages)) this.#forget();
    this.#latest = messages;
    const { open, said } = this.#settle(messages);
    const ids: string[] = [];
    const repaired = repairTurns(open, open.length, this.#usedIds, ids);
    for (const id of ids) this.#usedIds.delete(id);
    const isOpened = (this.#repaired[0] ?? repaired[0])?.role === "assistant";
    const first = oneSystemMessage([...system, ...this.#system, ...said]);
    // One copy of the whole, made by the quickest means there is for a long list.
    return first.concat(isOpened ? userMessage(OPENING) : [], this.#repaired, repaired);
  }

  /** Whether the conversation begins with all that is settled, and with the model's next message, which settled it. */
  #isContinuedBy(messages: readonly Message[]): boolean {
    const settled = this.#settled;
    if (settled.length > 0 && messages[settled.length]?.role !== "assistant") return false;
    let index = Math.min(knownInCommon(this.#latest, messages), settled.length);
    while (index < settled.length && messages[index] === settled[index]) index++;
    return index === settled.length;
  }

  #forget(): void {
    this.#settled = [];
    this.#repaired = [];
    this.#system = [];
    this.#usedIds = new Set();
  }

  /** Keeps what is final now; gives back the rest, with what the system says in it. */
  #settle(messages: readonly Message[]): { readonly open: readonly Message[]; readonly said: readonly Message[] } {
    const from = this.#settled.length;
    const end = lastAnswerIn(messages, from);
    const spoken: Message[] = [];
    const said: Message[] = [];
    let final = 0;
    for (let index = from; index < messages.length; index++) {
      const message = messages[index] as Message;
      if (index < end) this.#settled.push(message);
      if (message.role !== "system") spoken.push(wellFormed(message));
      else (index < end ? this.#system : said).push(message);
      if (index === end - 1) final = spoken.length;
    }
    for (const message of repairTurns(spoken, final, this.#usedIds, [])) this.#repaired.push(message);
    return { open: spoken.slice(final), said };
  }
}

/** The position of the model's last message behind `from`; `from` if there is no such message. */
function lastAnswerIn(messages: readonly Message[], from: number): number {
  for (let index = messages.length - 1; index > from; index--) if (messages[index]?.role === "assistant") return index;
  return from;
}

/** The turns that begin before `end`, in their final form. The ids that their calls are given are added to both lists. */
function repairTurns(
  messages: readonly Message[],
  end: number,
  usedIds: Set<string>,
  given: string[],
): readonly Message[] {
  const repaired: Message[] = [];
  for (let index = 0; index < end; index++) {
    const message = messages[index];
    if (message?.role === "assistant") {
      if (isSuperseded(messages, index)) continue;
      const turn = turnOf(message, resultsBehind(messages, index), usedIds);
      for (const { id } of (turn[0] as AssistantMessage | undefined)?.toolCalls ?? []) given.push(id);
      repaired.push(...turn);
    } else if (message?.role === "user" && hasContent(message)) repaired.push(message);
  }
  return repaired;
}

function oneSystemMessage(messages: readonly Message[]): readonly Message[] {
  const said = messages.map(wellFormed).filter((message) => textOf(message).trim() !== "");
  return said.length < 2 ? said : [systemMessage(said.map(textOf).join("\n\n"))];
}

/** Stands in for what was said before a history that begins with the model's words. */
const OPENING = "(The conversation continues from here.)";
const UNRECORDED =
  "No result of this call was recorded. It may or may not have taken effect; verify before repeating it.";

/** An answer that was cut off is shown only where the user went on from it: elsewhere it was, or is being, asked for again. */
function isSuperseded(messages: readonly Message[], index: number): boolean {
  const message = messages[index];
  if (message?.role !== "assistant" || message.incomplete !== true) return false;
  for (let behind = index + 1; behind < messages.length; behind++) {
    const other = messages[behind];
    if (other?.role === "assistant") return true;
    if (other?.role === "user" && hasContent(other)) return false;
  }
  return true;
}

/** Tool messages up to the model's next turn: a result may have been stored after a user's message that came in between. */
function resultsBehind(messages: readonly Message[], from: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let index = from + 1; index < messages.length; index++) {
    const message = messages[index];
    if (message?.role === "assistant") break;
    if (message?.role === "tool") results.push(message);
  }
  return results;
}

/** A message of the model's and the results of its calls, or nothing when it says and asks nothing. */
function turnOf(message: AssistantMessage, results: readonly ToolMessage[], usedIds: Set<string>): readonly Message[] {
  const calls = message.toolCalls ?? [];
  const unique = calls.filter((call, index) => calls.findIndex((other) => other.id === call.id) === index);
  if (unique.length === 0) return hasContent(message) ? [message] : [];
  const shown = unique.map((call) => shownCall(call, usedIds));
  const answers = unique.map((call, index) => answerTo(call, shown[index] ?? call, results));
  const isSame = unique.length === calls.length && shown.every((call, index) => call === calls[index]);
  return [isSame ? message : { ...message, toolCalls: shown }, ...answers];
}

/** The call as every provider accepts it; the same object where it needs no change. */
function shownCall(call: ToolCall, usedIds: Set<string>): ToolCall {
  const wanted = call.id === "" ? "call" : call.id;
  let id = wanted;
  for (let count = 2; usedIds.has(id); count++) id = `${wanted}_${count}`;
  usedIds.add(id);
  const name = call.name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";
  const sound = wellFormedValue(call.arguments);
  const input = isPlainObject(sound) ? sound : sound === undefined ? {} : { value: sound };
  if (id === call.id && name === call.name && input === call.arguments) return call;
  return { ...call, id, name, arguments: input };
}

function answerTo(call: ToolCall, shown: ToolCall, results: readonly ToolMessage[]): ToolMessage {
  const found = results.find((result) => result.toolCallId === call.id && result.toolName === call.name);
  const place = { toolCallId: shown.id, toolName: shown.name };
  if (found === undefined) return toolMessage(UNRECORDED, { ...place, isError: true });
  return shown.id === call.id && shown.name === call.name ? found : { ...found, ...place };
}

/** Half of a surrogate pair cannot be sent, and a provider would refuse the thread for ever because of it. */
function wellFormed(message: Message): Message {
  const known = soundMessages.get(message);
  if (known !== undefined) return known;
  const sound = madeWellFormed(message);
  soundMessages.set(message, sound);
  return sound;
}

/** Messages do not change, and a conversation is looked through before every model call: each is looked at once. */
const soundMessages = new WeakMap<Message, Message>();

function madeWellFormed(message: Message): Message {
  const { content } = message;
  if (typeof content === "string") {
    return content.isWellFormed() ? message : ({ ...message, content: content.toWellFormed() } as Message);
  }
  if (content.every(isWellFormedPart)) return message;
  const parts = content.map((part) => (isWellFormedPart(part) ? part : { ...part, text: textIn(part).toWellFormed() }));
  return { ...message, content: parts } as Message;
}

/** The same value where every text in it is well-formed, else a copy in which they are. */
function wellFormedValue(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) {
    const items = value.map(wellFormedValue);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormedValue(item)] as const);
  const isSame = entries.every(([key, item]) => Object.hasOwn(value, key) && value[key] === item);
  return isSame ? value : Object.fromEntries(entries);
}

const textIn = (part: ContentPart): string => ("text" in part ? part.text : "");
const isWellFormedPart = (part: ContentPart): boolean => textIn(part).isWellFormed();
