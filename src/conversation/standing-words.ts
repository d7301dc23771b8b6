import { type Message, textOf } from "../state/message.ts";
import { ownWords } from "../state/own-words.ts";
import { queryWords } from "../store/search/words.ts";

/**
 * All that holds throughout, the newest last: `known` with what the undecided messages add, and then each message with
 * `metadata: { pinned: true }`, which counts whole, whatever a model makes of it.
 */
export function standingWords(
  all: readonly Message[],
  known: readonly string[],
  undecided: readonly Message[],
): readonly string[] {
  const pinned = all.filter(({ role, metadata }) => role === "user" && metadata?.["pinned"] === true);
  const texts = pinned.map((message) => textOf(message).trim()).filter((text) => text !== "");
  return eachWhereSaidLast([...withStandingWords(known, undecided), ...texts]);
}

/**
 * The user's lasting wishes, found without a model: `before`, the sentences that sound
 * like one, and the later ones that share a telling word with one of these and so may
 * withdraw or change it. Nothing is withdrawn here: the model that reads both decides
 * which holds.
 */
export function withStandingWords(before: readonly string[], messages: readonly Message[]): readonly string[] {
  const wishes = new Wishes();
  for (const wish of before) wishes.add(wish);
  const found: string[] = [...before];
  for (const sentence of messages.flatMap(wordsOfUser)) {
    const isChange = wishes.maybeChangedBy(sentence);
    const isWish = STANDING.test(sentence);
    if (isWish) wishes.add(sentence);
    if (isWish || isChange) found.push(sentence);
  }
  return eachWhereSaidLast(found);
}

/** What a model says still holds, as far as the user said it: each quote must be found in the user's own words, or be known. */
export function verifiedQuotes(
  quotes: readonly string[],
  messages: readonly Message[],
  before: readonly string[],
): readonly string[] {
  const said = [...before, ...messages.flatMap((message) => ownWordsOfUser(message) ?? [])].map(singleSpaced);
  const isSaid = (quote: string): boolean => said.some((text) => text.includes(quote));
  return eachWhereSaidLast(quotes.map(singleSpaced).filter((quote) => quote !== "" && isSaid(quote)));
}

/** The newest that fit. One that would take most of the room is shortened, so that it costs none of the others theirs. */
export function newestWithin(
  words: readonly string[],
  tokens: number,
  count: (text: string) => number,
): readonly string[] {
  const kept: string[] = [];
  let left = tokens;
  for (const text of words.toReversed()) {
    const short = shortenedTo(text, tokens * LARGEST_SHARE, count);
    const size = count(short);
    if (size > left) continue;
    left -= size;
    kept.push(short);
  }
  return kept.reverse();
}

const LARGEST_SHARE = 0.25;

function shortenedTo(text: string, most: number, count: (text: string) => number): string {
  const size = count(text);
  if (size <= most) return text;
  const end = Math.floor((text.length * most * 0.8) / size);
  return `${text.slice(0, end).toWellFormed()} [${text.length - end} characters more]`;
}

/** How many later sentences one wish may keep: a topic of every day must not fill the room. */
const MOST_CHANGES = 3;

/** What was wished so far, by its telling words. */
class Wishes {
  readonly #byWord = new Map<string, { changes: number }[]>();

  add(sentence: string): void {
    const wish = { changes: 0 };
    for (const word of queryWords(sentence.replace(STANDING, " "))) {
      const known = this.#byWord.get(word);
      if (known === undefined) this.#byWord.set(word, [wish]);
      // Of wishes with a word in common, the newest stand for the others.
      else this.#byWord.set(word, [...known.slice(1 - MOST_CHANGES), wish]);
    }
  }

  /** Counts it for every wish that it has a telling word in common with. */
  maybeChangedBy(sentence: string): boolean {
    const related = new Set(queryWords(sentence).flatMap((word) => this.#byWord.get(word) ?? []));
    let isNew = false;
    for (const wish of related) isNew = wish.changes++ < MOST_CHANGES || isNew;
    return isNew;
  }
}

const STANDING =
  /\b(?:from now on|from here on|going forward|in future|always|never|at all times|every time|under no circumstances|until i (?:say|tell)|for the rest of (?:this|our)|do(?: not|n't) ever|stick to|remember to|keep in mind)\b/i;
const LONGEST_SENTENCE = 400;
const LONGEST_TEXT = 20_000;

/** `undefined` for what is not the user's: what this package put in between bears a mark of ours. */
function ownWordsOfUser({ role, content, metadata }: Message): string | undefined {
  if (role !== "user" || Object.keys(metadata ?? {}).some((key) => key.startsWith("holdfast."))) return undefined;
  return ownWords(textOf({ role, content }).slice(0, LONGEST_TEXT));
}

/** A question asks; it does not tell. */
function wordsOfUser(message: Message): readonly string[] {
  if (message.metadata?.["pinned"] === true) return [];
  return (ownWordsOfUser(message) ?? "")
    .split(/(?<=[.!?\u3002\uff01\uff1f])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "" && sentence.length <= LONGEST_SENTENCE && !sentence.endsWith("?"));
}

function eachWhereSaidLast(words: readonly string[]): readonly string[] {
  return [...new Set(words.toReversed())].reverse();
}

const singleSpaced = (text: string): string => text.normalize("NFC").replace(/\s+/g, " ").trim();
