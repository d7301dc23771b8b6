import { type Message, textOf } from "./message.ts";

/**
 * The words of a text, computed once for every backend, because an index and a
 * scan must find the same things. Letters are compared without case, accents or
 * width. Each Chinese, Japanese or Korean character is a word of its own, because
 * those scripts do not separate words by spaces.
 */
export function searchWords(text: string): string[] {
  const plain = text.slice(0, LONGEST_TEXT).normalize("NFKD").replace(MARKS, "").normalize("NFC").toLowerCase();
  // Cut again, because normalising may turn one character into eighteen.
  return plain.slice(0, LONGEST_TEXT).match(WORDS) ?? [];
}

/** Whether this is one word, written as it is indexed. */
export function isSearchWord(text: string): boolean {
  const words = searchWords(text);
  return words.length === 1 && words[0] === text;
}

/**
 * Only this many characters of a text are searchable. One message must not cost the
 * index, and every search of it, without a limit.
 */
export const LONGEST_TEXT = 262_144;

/**
 * The searchable part of a message: its text, its tool calls and the name of the
 * tool that answered, up to `LONGEST_TEXT` characters in all.
 */
export function searchableText(messages: readonly Message[]): string {
  return messages
    .map((message) => searchWords(partsOf(message).join("\n")).join(" "))
    .filter((words) => words !== "")
    .join(" ");
}

function partsOf(message: Message): readonly string[] {
  const parts = [textOf(message)];
  if (message.role === "assistant") {
    for (const call of message.toolCalls ?? []) parts.push(call.name, stringsIn(call.arguments));
  }
  if (message.role === "tool") parts.push(message.toolName);
  return parts;
}

const MARKS = /\p{M}+/gu;
/**
 * A word has at most 128 characters; a longer one is split. Without a limit, a
 * megabyte of letters overflows the engine's stack.
 */
const WORDS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}_]){1,128}/gu;

function stringsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map(stringsIn).join(" ");
  if (typeof value === "object" && value !== null) return Object.values(value).map(stringsIn).join(" ");
  return "";
}
