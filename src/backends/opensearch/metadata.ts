import { createHash } from "node:crypto";

/** The terms of a metadata query: one for each member, its type included. `hasMember` rules out hash collisions. */
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

/** Whether the object in `text` has `key` with exactly that JSON value. */
export function hasMember(text: string | undefined, key: string, valueJson: string): boolean {
  if (text === undefined) return false;
  const metadata: unknown = JSON.parse(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}
