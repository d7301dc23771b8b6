import { createHash } from "node:crypto";

/** The terms of a metadata query: one for each member, its type included. `storedMember` rules out hash collisions. */
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
