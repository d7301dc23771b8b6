/**
 * Thread patterns: `*` is any run of characters, `?` one character, a backslash
 * makes the next one literal. Nothing else is special, on any backend.
 */
export function globToRegExp(pattern: string): RegExp {
  let source = "";
  let escaped = false;
  for (const character of pattern) {
    if (!escaped && character === "\\") escaped = true;
    else if (!escaped && character === "*") source += ".*";
    else if (!escaped && character === "?") source += ".";
    else {
      source += escapeForRegExp(character);
      escaped = false;
    }
  }
  if (escaped) source += "\\\\";
  return new RegExp(`^${source}$`, "su");
}

/** The characters before the first wildcard: a store may use them to narrow a scan. */
export function globPrefix(pattern: string): string {
  let prefix = "";
  let escaped = false;
  for (const character of pattern) {
    if (!escaped && character === "\\") escaped = true;
    else if (!escaped && (character === "*" || character === "?")) break;
    else {
      prefix += character;
      escaped = false;
    }
  }
  return prefix;
}

const escapeForRegExp = (character: string): string => character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
