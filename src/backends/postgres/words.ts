import { shortenedWord } from "../../driver/shortened-word.ts";

/** A lexeme has at most 2046 bytes; a longer word is indexed by its beginning. */
const MAX_WORD_CHARACTERS = 500;
/** A tsvector has less than a megabyte; further words of the record are not found. */
const MAX_BYTES = 900_000;
/** So few characters are less than that, whatever they are. */
const SURELY_FIT = 100_000;

/** The words of a tsvector, separated by spaces: each once, shortened if too long, and limited in total. */
export function storedWords(words: string | undefined): string | null {
  if (words === undefined || words === "") return null;
  const all = words.split(" ");
  const kept = new Set<string>();
  if (words.length < SURELY_FIT && all.every((word) => word !== "" && word.length <= MAX_WORD_CHARACTERS)) {
    return [...new Set(all)].join(" ");
  }
  let bytes = 0;
  for (const word of all) {
    const lexeme = shortenedWord(word, MAX_WORD_CHARACTERS);
    if (lexeme === "" || kept.has(lexeme)) continue;
    bytes += Buffer.byteLength(lexeme) + 8;
    if (bytes > MAX_BYTES) break;
    kept.add(lexeme);
  }
  return kept.size === 0 ? null : [...kept].join(" ");
}

/** Matches records that have all of the words, each as a whole word or as the beginning of one. */
export const wordQuery = (words: readonly string[]): string =>
  words
    .map((word) => `'${shortenedWord(word, MAX_WORD_CHARACTERS).replaceAll("\\", "\\\\").replaceAll("'", "''")}':*`)
    .join(" & ");
