/**
 * Keeps credentials out of messages. Two nets: patterns that every client
 * library's messages are caught by, and the exact secrets an instance was
 * given, which are replaced wherever they appear.
 */

const HIDDEN = "***";

/**
 * `scheme://user:password@host`. Up to the last @ of the line, because a password
 * may hold anything, an @ or a slash or a space included: hiding too much is the
 * lesser harm.
 */
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\n]*@/gi;
const NAMED_SECRET =
  /((?:password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key)["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"',;&)]+)/gi;
const CREDENTIALS =
  /\b(authorization["']?\s*[=:]\s*["']?(?:bearer|basic)|bearer|basic)(\s+)(?!auth\b)[a-z0-9._~+/=-]+/gi;

/** Keys that tell themselves by how they begin. */
const BARE_KEY = /\b(sk|pk|rk|ghp|xox[a-z])[-_][A-Za-z0-9_-]{8,}/g;

export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
    if (secret !== "") clean = clean.replaceAll(secret, HIDDEN);
  }
  return clean
    .replace(URL_PASSWORD, `$1:${HIDDEN}@`)
    .replace(NAMED_SECRET, `$1${HIDDEN}`)
    .replace(BARE_KEY, `$1-${HIDDEN}`)
    .replace(CREDENTIALS, `$1$2${HIDDEN}`);
}

/**
 * The same error if it is clean, else a copy whose message and stack are.
 * Own properties of a client's error (`config`, `options`, …) are where
 * connection strings hide, so a copy keeps only name and code.
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
