/** The beginning of a word that is too long for an index; never cuts a character in half. */
export function shortenedWord(word: string, mostCharacters: number): string {
  if (word.length <= mostCharacters) return word;
  return word.slice(0, mostCharacters).replace(/[\ud800-\udbff]$/, "");
}
