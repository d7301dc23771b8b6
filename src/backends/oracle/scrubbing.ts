/** What no statement of ours can erase. */
export const REMAINS: readonly string[] = [
  "freed space in the tables' blocks until it is used again, or until ALTER TABLE … MOVE of these tables",
  "undo, redo logs and their archive, flashback data, and standby databases",
];
