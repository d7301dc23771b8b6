/**
 * What jsonb cannot hold: U+0000, and halves of surrogate pairs, which JSON
 * writes as escapes. Literal text that only looks like one is taken for one
 * too, which makes the search for it slower and not wrong.
 */
const UNINDEXABLE = /\\u(?:0000|d[89a-f])/i;

/** The object that metadata with this member contains, or nothing where jsonb cannot say it. */
export function indexable(key: string, valueJson: string): string | null {
  const member = `{${JSON.stringify(key)}:${valueJson}}`;
  return UNINDEXABLE.test(member) ? null : member;
}

/** Whether the object in `text` has `key` with that very JSON value. */
export function hasMember(text: string | undefined, key: string, valueJson: string): boolean {
  if (text === undefined) return false;
  const metadata: unknown = JSON.parse(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}
