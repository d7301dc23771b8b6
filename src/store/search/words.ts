import { LONGEST_TEXT, searchWords } from "../../state/words.ts";

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

/**
 * Takes English endings off, after M. F. Porter's algorithm of 1980, so that
 * "connected" and "connections" are one word. Words of other alphabets stay as
 * they are.
 */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  let stemmed = withoutPlural(word);
  stemmed = withoutPast(stemmed);
  if (stemmed.endsWith("y") && /[aeiouy]/.test(stemmed.slice(0, -1))) stemmed = `${stemmed.slice(0, -1)}i`;
  stemmed = replaced(stemmed, LONG_ENDINGS, 0);
  stemmed = replaced(stemmed, SHORTER_ENDINGS, 0);
  stemmed = withoutLastEnding(stemmed);
  return tidied(stemmed);
}

/** How often vowels are followed by consonants: whether enough of a word is left to take something off. */
function measure(part: string): number {
  // A y is a consonant at the beginning and behind a vowel.
  const plain = part.replace(/^y/, "j").replaceAll(/([aeiou])y/g, "$1j");
  return (plain.match(/[aeiouy](?=[^aeiouy])/g) ?? []).length;
}

const hasVowel = (part: string): boolean => /[aeiou]|.y/.test(part);
const endsInShortSyllable = (part: string): boolean => /(?:^|[^aeiou])[^aeiou][aeiouy][^aeiouwxy]$/.test(part);

function withoutPlural(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutPast(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const ending = /(?:ed|ing)$/.exec(word)?.[0];
  const part = ending === undefined ? "" : word.slice(0, -ending.length);
  if (ending === undefined || !hasVowel(part)) return word;
  if (/(?:at|bl|iz)$/.test(part)) return `${part}e`;
  if (/([^aeiouylsz])\1$/.test(part)) return part.slice(0, -1);
  return measure(part) === 1 && endsInShortSyllable(part) ? `${part}e` : part;
}

const LONG_ENDINGS: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["ization", "ize"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["entli", "ent"],
  ["ousli", "ous"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["ator", "ate"],
  ["eli", "e"],
];

const SHORTER_ENDINGS: readonly (readonly [string, string])[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];

function replaced(word: string, endings: readonly (readonly [string, string])[], least: number): string {
  for (const [ending, instead] of endings) {
    if (!word.endsWith(ending)) continue;
    const part = word.slice(0, -ending.length);
    return measure(part) > least ? part + instead : word;
  }
  return word;
}

const LAST_ENDINGS = /(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|(?<=[st])ion|al|er|ic|ou)$/;

function withoutLastEnding(word: string): string {
  const ending = LAST_ENDINGS.exec(word)?.[0];
  if (ending === undefined) return word;
  const part = word.slice(0, -ending.length);
  return measure(part) > 1 ? part : word;
}

function tidied(word: string): string {
  const part = word.slice(0, -1);
  if (word.endsWith("e")) {
    const left = measure(part);
    return left > 1 || (left === 1 && !endsInShortSyllable(part)) ? part : word;
  }
  return word.endsWith("ll") && measure(word) > 1 ? part : word;
}
