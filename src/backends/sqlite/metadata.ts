import { membersIn } from "../../checkpoint/sql-log/members.ts";
import type { Statements } from "./statements.ts";

/**
 * Brings the index from one metadata of a thread to the next. Only what differs is
 * written: a member is added if SQLite finds it missing, whatever the earlier metadata
 * said.
 */
export function moveMembers(
  { addMember, dropMember }: Statements,
  threadId: string,
  before: string | null,
  after: string | null,
): void {
  if (before === after) return;
  const now = membersIn(after);
  for (const member of membersIn(before)) if (!now.has(member)) dropMember.run(member, threadId);
  for (const member of now) addMember.run(member, threadId);
}
