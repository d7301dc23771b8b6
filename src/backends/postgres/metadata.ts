/**
 * What jsonb cannot hold: U+0000 and unpaired surrogates, which JSON writes as
 * escapes. Literal text that only looks like such an escape matches too. That makes
 * a query slower, never wrong.
 */
const UNINDEXABLE = /\\u(?:0000|d[89a-f])/i;

/** The object that jsonb must contain for this member, or null if jsonb cannot express it. */
export function indexable(key: string, valueJson: string): string | null {
  const member = `{${JSON.stringify(key)}:${valueJson}}`;
  return UNINDEXABLE.test(member) ? null : member;
}
