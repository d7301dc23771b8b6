/**
 * Thread patterns: `*` is any run of characters, `?` one character, a backslash
 * makes the next one literal. Nothing else is special, on any backend.
 */

const ANY = Symbol("*");
const ONE = Symbol("?");
type Token = string | typeof ANY | typeof ONE;

/**
 * Tells whether an id matches. Not a regular expression, because a pattern may
 * come from a stranger and a regular expression can take for ever. This one
 * backtracks to the last `*` at most, so it costs pattern length times id length
 * at worst.
 */
export function globMatcher(pattern: string): (id: string) => boolean {
  const tokens = tokensOf(pattern);
  return (id) => matches(tokens, [...id]);
}

function matches(tokens: readonly Token[], characters: readonly string[]): boolean {
  let [token, character] = [0, 0];
  let [lastAny, resumeAt] = [-1, 0];
  while (character < characters.length) {
    const wanted = tokens[token];
    if (wanted === ANY) {
      [lastAny, resumeAt] = [token, character];
      token++;
    } else if (wanted === ONE || (wanted !== undefined && wanted === characters[character])) {
      token++;
      character++;
    } else if (lastAny !== -1) {
      resumeAt++;
      [token, character] = [lastAny + 1, resumeAt];
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === ANY);
}

/** The characters before the first wildcard, which a store may use to narrow a scan. */
export function globPrefix(pattern: string): string {
  const tokens = tokensOf(pattern);
  const end = tokens.findIndex((token) => typeof token === "symbol");
  return (end === -1 ? tokens : tokens.slice(0, end)).join("");
}

/** Whether a pattern may match more than one text. */
export const hasWildcards = (pattern: string): boolean => tokensOf(pattern).some((token) => typeof token === "symbol");

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  let escaped = false;
  for (const character of pattern) {
    if (escaped) tokens.push(character);
    else if (character === "*") tokens.push(ANY);
    else if (character === "?") tokens.push(ONE);
    else if (character !== "\\") tokens.push(character);
    escaped = !escaped && character === "\\";
  }
  if (escaped) tokens.push("\\");
  return tokens;
}

/** The pattern for everything that begins with this text, whatever characters it contains. */
export const globOfPrefix = (prefix: string): string => `${prefix.replace(/[*?\\]/g, "\\$&")}*`;
