import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { SqlDialect, SqlTables, SqlText } from "./dialect.ts";

/**
 * The index of metadata: rows `(member, thread)`. A member stands for a key with its value: a number made from both
 * texts, so that a row of the index is short however long they are. Two members may have one number. That costs a look,
 * because the exact comparison is always made with the metadata itself.
 */

/** Of a thread whose metadata is not taken apart: every query looks at it. */
export const UNINDEXED = 0;

/** More would make a save of new metadata slow: such a thread is looked at instead. */
const MOST_MEMBERS = 64;
const MOST_CHARACTERS = 32 * 1024;
/** 48 bits: exact in JavaScript, and short in a database. */
const DIGITS = 12;

export function memberOf(key: string, valueJson: string): number {
  const digest = nodeCrypto().hash("sha256", `${key.length} ${key}${valueJson}`, "hex");
  return 1 + Number.parseInt(digest.slice(0, DIGITS), 16);
}

/** All members of an object in JSON. Damaged text has no members. */
export function membersIn(text: string | null | undefined): ReadonlySet<number> {
  if (text === null || text === undefined) return new Set();
  if (text.length > MOST_CHARACTERS) return new Set([UNINDEXED]);
  const metadata = objectIn(text);
  if (metadata === undefined) return new Set();
  const keys = Object.keys(metadata);
  if (keys.length > MOST_MEMBERS) return new Set([UNINDEXED]);
  const members = new Set<number>();
  for (const key of keys) {
    const valueJson = jsonOf(metadata[key]);
    if (valueJson === undefined) return new Set([UNINDEXED]);
    members.add(memberOf(key, valueJson));
  }
  return members;
}

/** Whether the object in `text` has `key` with exactly that JSON value. Damaged text has no members. */
export function hasMember(text: string | null, key: string, valueJson: string): boolean {
  const metadata = text === null ? undefined : objectIn(text);
  return metadata !== undefined && Object.hasOwn(metadata, key) && jsonOf(metadata[key]) === valueJson;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const metadata: unknown = JSON.parse(text);
    return typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** `undefined` for a value that is nested too deep for `JSON.stringify`, and so for every client too. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Threads whose newest checkpoint has a member, and those that every query looks at, in the order of ids. */
export function withMember(
  dialect: SqlDialect,
  tables: SqlTables & { readonly members: string },
): { readonly from: SqlText; readonly to: SqlText } {
  const { threads, records, members } = tables;
  const ids = (member: string, to: string, name: string): string => `SELECT ${name}.* FROM (
        SELECT m.thread_id, t.head FROM ${members} m JOIN ${threads} t ON t.thread_id = m.thread_id
        WHERE m.member = ${member} AND m.thread_id >= :first${to}
          AND (t.expires_at IS NULL OR t.expires_at > ${dialect.now})
        ORDER BY m.thread_id ${dialect.page("most")}) ${name}`;
  const page = (to: string): SqlText =>
    dialect.statement(`SELECT p.thread_id, ${dialect.entry("r")} FROM (
      SELECT u.thread_id, u.head FROM (${ids(":member", to, "found")} UNION ${ids(String(UNINDEXED), to, "always")}) u
      ORDER BY u.thread_id ${dialect.page("most")}) p
    LEFT JOIN ${records} r ON r.thread_id = p.thread_id AND r.seq = p.head
    ORDER BY p.thread_id`);
  return { from: page(""), to: page(" AND m.thread_id <= :last") };
}
