/**
 * Stored text attacks terminals: it moves the cursor, sets titles, fills the
 * clipboard, turns the reading direction. So whatever is no plain character is
 * written as an escape.
 */
const HARMFUL =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The same text on one line, with everything that a terminal would obey made visible. */
export const visible = (text: string): string => text.replace(HARMFUL, escaped);

/** The same over several lines. */
export const visibleLines = (text: string): string => text.split("\n").map(visible).join("\n");

function escaped(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\u{${digits}}`;
}

const HARMFUL_IN_JSON =
  /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** JSON of the same value: what it need not escape and a terminal would obey is escaped as well. */
export const visibleJson = (value: unknown, indent?: number): string =>
  visibleDocument(JSON.stringify(value, null, indent) ?? "null");

/** The same of what is JSON already. */
export const visibleDocument = (json: string): string =>
  json.replace(HARMFUL_IN_JSON, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );

const PLAIN_WORD = /^[\p{L}\p{N}_@%+=:,./^][\p{L}\p{N}_@%+=:,./^~-]*$/u;

/** An id as it can be pasted back into a shell. */
export function shellWord(text: string): string {
  if (PLAIN_WORD.test(text)) return text;
  const shown = visible(text);
  if (shown === text) return `'${text.replaceAll("'", `'\\''`)}'`;
  // Escapes need the quoting that bash and zsh read them in; \u takes four digits there, \U eight.
  const quoted = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replace(HARMFUL, shellEscape);
  return `$'${quoted}'`;
}

function shellEscape(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16);
  return digits.length <= 4 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
