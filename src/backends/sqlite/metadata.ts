/** Whether SQLite's json_each shows the key as it is: nothing in it needs an escape. */
export const isPlainKey = (key: string): boolean => JSON.stringify(key) === `"${key}"`;

/** Whether the object in `text` has `key` with that very JSON value. Text that is damaged has no members. */
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
