import { type Message, textOf } from "./message.ts";

/**
 * The words of a text, the same for every backend: an index and a scan must find
 * the same things. Letters are compared without case, accents or width; each
 * Chinese, Japanese or Korean character is a word of its own, because those
 * scripts do not put spaces between words.
 */
export function searchWords(text: string): string[] {
  const plain = text.normalize("NFKD").replace(MARKS, "").normalize("NFC").toLowerCase();
  return plain.match(WORDS) ?? [];
}

/** What is searchable of a message: its text, its tool calls, the name of the tool that answered. */
export function searchableText(messages: readonly Message[]): string {
  const parts: string[] = [];
  for (const message of messages) {
    parts.push(textOf(message));
    if (message.role === "assistant") {
      for (const call of message.toolCalls ?? []) parts.push(call.name, stringsIn(call.arguments));
    }
    if (message.role === "tool") parts.push(message.toolName);
  }
  return searchWords(parts.join("\n")).join(" ");
}

const MARKS = /\p{M}+/gu;
const WORDS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}_])+/gu;

function stringsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map(stringsIn).join(" ");
  if (typeof value === "object" && value !== null) return Object.values(value).map(stringsIn).join(" ");
  return "";
}
