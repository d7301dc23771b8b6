import { shortenedWord } from "../../driver/shortened-word.ts";

/** The analyzer splits words longer than 255 characters; a longer word is indexed by its beginning. */
const MAX_WORD_CHARACTERS = 200;

/** The limit for all words of a record. A record may have 16 MiB, and a request that holds two of them 100 MB. */
const MAX_CHARACTERS = 1024 * 1024;

/** Repeated words are kept, because their number counts for the ranking. Words beyond the limit cannot be found. */
export function storedWords(words: string | undefined): string | undefined {
  if (words === undefined || words === "") return undefined;
  const kept: string[] = [];
  let room = MAX_CHARACTERS;
  for (const word of words.split(" ")) {
    const short = shortenedWord(word, MAX_WORD_CHARACTERS);
    room -= short.length + 1;
    if (room < 0) break;
    kept.push(short);
  }
  return kept.join(" ");
}

/** Matches all of the words, each as a whole word or as the beginning of one; a whole one ranks higher. */
export const wordQuery = (words: readonly string[]): readonly object[] =>
  words
    .map((word) => shortenedWord(word, MAX_WORD_CHARACTERS))
    .map((value) => ({
      bool: { should: [{ term: { words: { value } } }, { prefix: { words: { value } } }], minimum_should_match: 1 },
    }));
