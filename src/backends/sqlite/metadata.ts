/** Whether SQLite's json_each shows the key as it is: nothing in it needs an escape. */
export const isPlainKey = (key: string): boolean => JSON.stringify(key) === `"${key}"`;

/** Whether the object in `text` has `key` with that very JSON value. */
export function hasMember(text: string | null, key: string, valueJson: string): boolean {
  if (text === null) return false;
  const metadata: unknown = JSON.parse(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}
