import { createHash } from "node:crypto";

/** What the thread of a metadata query is found by: one for each member, type included. Collisions are sorted out by `hasMember`. */
export function tagsOf(metadata: string | undefined): readonly string[] {
  if (metadata === undefined) return [];
  const members: unknown = JSON.parse(metadata);
  if (typeof members !== "object" || members === null) return [];
  return Object.entries(members).map(([key, value]) => tagOf(key, JSON.stringify(value)));
}

export const tagOf = (key: string, valueJson: string): string =>
  createHash("sha256")
    .update(`${JSON.stringify(key)}:${valueJson}`, "utf8")
    .digest()
    .subarray(0, 16)
    .toString("base64url");

/** Whether the object in `text` has `key` with that very JSON value. */
export function hasMember(text: string | undefined, key: string, valueJson: string): boolean {
  if (text === undefined) return false;
  const metadata: unknown = JSON.parse(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}
