import { LONGEST_TEXT, searchWords } from "../state/words.ts";
import { stem } from "./stemming.ts";

/** The words of a text as they are indexed: without case and accents, stemmed, in their order. */
export const indexedWords = (text: string): string => searchWords(text).map(stem).join(" ");

/** Longer queries are cut to their first words. */
export const MOST_WORDS = 64;

/**
 * The words of a question to look for, each once. Words that are in nearly every
 * text tell nothing and are left out, unless there are no others.
 */
export function queryWords(query: string): readonly string[] {
  const all = searchWords(query.slice(0, LONGEST_TEXT));
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  return [...new Set((telling.length > 0 ? telling : all).map(stem))].slice(0, MOST_WORDS);
}

/** Whether an English word tells nothing by itself. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word);

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being between both but by can could
   d did do does doing don down during each few for from further had has have having he her here hers him himself his
   how i if in into is it its itself just ll m me more most my myself no nor not now of off on once only or other our
   ours out over own re s same she should so some such t than that the their theirs them then there these they this
   those through to too under until up us ve very was we were what when where which while who whom why will with would
   you your yours`.split(/\s+/),
);
