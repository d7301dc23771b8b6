/**
 * Before 18c a token of an Oracle Text index has at most 64 bytes, and a longer one
 * is truncated. We cut it ourselves, so that every version does the same.
 */
const MOST_TOKEN_BYTES = 64;
/** What one bind of a statement can hold in every database. */
const MOST_QUERY_BYTES = 4000;
/** All tokens of a record together; further words are not found. */
const MOST_TEXT_BYTES = 4 * 1024 * 1024;

/**
 * No word of the query language and no stopword begins like this, so no token needs
 * an escape. Escaping by braces would not do: `{word}%` is a word and a wildcard.
 */
const PREFIX = "hf";
const AND = " & ";

/**
 * A word as a token that every lexer takes as one word: ASCII letters and digits.
 * Any other character is written as a number of fixed length, so that the beginning
 * of a word becomes the beginning of its token.
 */
export function tokenOf(word: string): string {
  let token = PREFIX;
  for (let at = 0; at < word.length; at++) {
    const character = word.charAt(at);
    const next = /[a-y0-9]/.test(character) ? character : `z${word.charCodeAt(at).toString(16).padStart(4, "0")}`;
    if (token.length + next.length > MOST_TOKEN_BYTES) break;
    token += next;
  }
  return token;
}

/** The tokens of a record's words, each once; `undefined` if there are none. */
export function storedTokens(words: string | undefined): { readonly text: string; readonly count: number } | undefined {
  if (words === undefined) return undefined;
  const tokens = new Set<string>();
  let bytes = 0;
  for (const word of words.split(" ")) {
    const token = tokenOf(word);
    if (word === "" || tokens.has(token)) continue;
    bytes += token.length + 1;
    if (bytes > MOST_TEXT_BYTES) break;
    tokens.add(token);
  }
  return tokens.size === 0 ? undefined : { text: [...tokens].join(" "), count: tokens.size };
}

/** Queries for CONTAINS that a record must all meet: each word is the beginning of one of its tokens. */
export function textQueries(words: readonly string[]): readonly string[] {
  const queries: string[] = [];
  for (const word of words) {
    const term = `${tokenOf(word)}%`;
    const last = queries.at(-1);
    const joined = last === undefined ? term : last + AND + term;
    if (last === undefined || joined.length > MOST_QUERY_BYTES) queries.push(term);
    else queries[queries.length - 1] = joined;
  }
  return queries;
}
