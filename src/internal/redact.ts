/**
 * Keeps credentials out of messages. Two nets: patterns that every client
 * library's messages are caught by, and the exact secrets an instance was
 * given, which are replaced wherever they appear.
 */

const HIDDEN = "***";

/** `scheme://user:password@host`: greedy up to the last @ so that an @ inside a password does not end it early. */
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s/]*@/gi;
const NAMED_SECRET =
  /\b(password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key|wallet[-_]?password)(["']?\s*[=:]\s*["']?)[^\s"',;&)]+/gi;
const BEARER = /\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}/gi;

export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== "") clean = clean.replaceAll(secret, HIDDEN);
  }
  return clean
    .replace(URL_PASSWORD, `$1:${HIDDEN}@`)
    .replace(NAMED_SECRET, `$1$2${HIDDEN}`)
    .replace(BEARER, `$1 ${HIDDEN}`);
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
