import { invalid } from "../../driver/options.ts";

/**
 * An identifier has at most 128 bytes, and our longest suffix has 22. Names are
 * unquoted, so the server stores them in capitals.
 */
const TABLE = /^(?:[A-Za-z][A-Za-z0-9_$#]{0,127}\.)?[A-Za-z][A-Za-z0-9_]{0,99}$/;
const ROLE = /^[A-Za-z][A-Za-z0-9_$#]{0,127}$/;

/** Refuses what cannot be the name of a table, with or without its owner. */
export function assertTableName(tableName: string): void {
  if (TABLE.test(tableName)) return;
  throw invalid(
    "tableName must be a letter and then letters, digits and underscores, at most 100 in all, with or without OWNER. before it",
  );
}

export function assertRole(role: string): void {
  if (!ROLE.test(role)) throw invalid("role must be the name of a user or role: letters, digits and underscores");
}
