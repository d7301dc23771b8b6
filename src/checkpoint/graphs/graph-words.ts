import { searchWords } from "../../state/words.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { assertChecksum } from "../record/record.ts";

/**
 * The words that a record of a graph brought in. Behind its first line lie the
 * texts that are new in the thread, as JSON; what is not new is not in it, so
 * that each message is indexed once. Keys are no words, and neither are ids.
 */
export function graphWordsOf(record: LogRecord): string | undefined {
  assertChecksum(record);
  const words = wordsInTexts(Buffer.from(record.body).toString());
  return words === "" ? undefined : words;
}

/** The same of a body that is about to be written. */
export function wordsInTexts(body: string): string {
  const texts = body.slice(body.indexOf("\n") + 1);
  const found: string[] = [];
  for (const [, text = "", end] of texts.matchAll(STRINGS)) {
    if (end === '"' && text.length > 1) found.push(searchWords(JSON.parse(`"${text}"`) as string).join(" "));
  }
  return found.filter((words) => words !== "").join(" ");
}

/** Strings of JSON, and how they end: keys with a colon. One that does not end is taken too, or each quote would look for its end. */
const STRINGS = /"([^"\\]*(?:\\.[^"\\]*)*)("?:?)/g;
