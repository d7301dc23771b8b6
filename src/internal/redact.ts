/**
 * Keeps credentials out of messages, in two ways: patterns that cover the
 * messages of every client library, and the exact secrets that an instance was
 * given, which are replaced wherever they appear.
 */

const HIDDEN = "***";

/**
 * `scheme://user:password@host`. It reaches to the last @ of the line, because a
 * password may contain an @, a slash or a space. Hiding too much is the lesser
 * harm.
 */
function withoutUrlPasswords(line: string): string {
  const at = line.lastIndexOf("@");
  const user = at === -1 ? null : URL_USER.exec(line);
  if (user === null) return line;
  const end = user.index + user[0].length;
  return end > at ? line : line.slice(0, end) + HIDDEN + line.slice(at);
}

const URL_USER = /(?<=[a-z0-9+.-]):\/\/[^\s:/@]*:/i;

const NAMED_SECRET =
  /((?:password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"',;&)]+)/gi;
const CREDENTIALS =
  /\b(authorization["']?\s*[=:]\s*["']?(?:bearer|basic)|bearer|basic)(\s+)(?!auth\b)[a-z0-9._~+/=-]+/gi;

/** Keys that are recognisable by their prefix. */
const BARE_KEY = /\b(sk|pk|rk|ghp|xox[a-z])[-_][A-Za-z0-9_-]{8,}/g;

export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret !== "") clean = clean.replaceAll(secret, HIDDEN);
  }
  return clean
    .split("\n")
    .map(withoutUrlPasswords)
    .join("\n")
    .replace(NAMED_SECRET, `$1${HIDDEN}`)
    .replace(BARE_KEY, `$1-${HIDDEN}`)
    .replace(CREDENTIALS, `$1$2${HIDDEN}`);
}

/**
 * The same error if it is clean, otherwise a copy with a redacted message and
 * stack. The copy keeps only name and code: connection strings hide in the other
 * properties of client errors (`config`, `options`, …).
 */
export function redactCause(cause: unknown, secrets: readonly string[] = []): unknown {
  if (!(cause instanceof Error)) return typeof cause === "string" ? redact(cause, secrets) : undefined;
  const clean = new Error(redact(cause.message, secrets));
  clean.name = cause.name;
  if (cause.stack !== undefined) clean.stack = redact(cause.stack, secrets);
  const { code } = cause as { code?: unknown };
  if (typeof code === "string" || typeof code === "number") Object.assign(clean, { code });
  return clean;
}
