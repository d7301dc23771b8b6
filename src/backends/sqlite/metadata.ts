/** Whether SQLite's json_each shows the key unchanged: it contains nothing that JSON escapes. */
export const isPlainKey = (key: string): boolean => JSON.stringify(key) === `"${key}"`;

/** Whether the object in `text` has `key` with exactly that JSON value. Damaged text has no members. */
export function hasMember(text: string | null, key: string, valueJson: string): boolean {
  const metadata = text === null ? undefined : parsed(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
