import { createHash } from "node:crypto";
import { sqlState } from "./classify.ts";
import type { PostgresClient } from "./connect.ts";

/** The state of a connection. */
export interface Session {
  /** The server process that was announced when it was opened. */
  readonly pid: string;
  /** Whether that process answers. Behind a pooler it is another one; `undefined` until the first answer. */
  isDirect: boolean | undefined;
  /** The names of statements that the server keeps. */
  readonly kept: Set<string>;
}

const sessions = new WeakMap<object, Session>();

/** By the connection inside the client: a pool may hand the same one out in different wrappings. */
export function sessionOf(client: PostgresClient): Session {
  const { connection = client, processID } = client as { connection?: object; processID?: number | null };
  const known = sessions.get(connection);
  if (known !== undefined) return known;
  const session: Session = { pid: String(processID), isDirect: undefined, kept: new Set() };
  sessions.set(connection, session);
  return session;
}

/** There is no such prepared statement, or there is one already. */
export const isOfNames = (error: unknown): boolean => ["26000", "42P05"].includes(sqlState(error) ?? "");

const names = new Map<string, string>();

/** The same text has the same name in every process, and another text another one. */
export function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `holdfast_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
  names.set(text, name);
  return name;
}
