/** The analyzer cuts what is longer than 255 into several words; a longer word is found by its beginning. */
const MAX_WORD_CHARACTERS = 200;

/** All words of a record together. A record may have 16 MiB, and a request that holds two of them 100 MB. */
const MAX_CHARACTERS = 1024 * 1024;

/** How often a word is there counts for the order of the hits, so it stays as often as it was. What is over the bound cannot be searched for. */
export function storedWords(words: string | undefined): string | undefined {
  if (words === undefined || words === "") return undefined;
  const kept: string[] = [];
  let room = MAX_CHARACTERS;
  for (const word of words.split(" ")) {
    const short = shortened(word);
    room -= short.length + 1;
    if (room < 0) break;
    kept.push(short);
  }
  return kept.join(" ");
}

/** All of the words, each whole or as the beginning of one; a whole one is worth more. */
export const wordQuery = (words: readonly string[]): readonly object[] =>
  words.map(shortened).map((value) => ({
    bool: { should: [{ term: { words: { value } } }, { prefix: { words: { value } } }], minimum_should_match: 1 },
  }));

/** Never in the middle of a character. */
function shortened(word: string): string {
  if (word.length <= MAX_WORD_CHARACTERS) return word;
  return word.slice(0, MAX_WORD_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
}
