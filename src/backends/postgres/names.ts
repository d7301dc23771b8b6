import { StateError } from "../../errors.ts";

/** An identifier has at most 63 bytes, and our longest suffix has 22. */
const PREFIX = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;
const SCHEMA = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

/** Refuses what cannot be the name of a schema or the prefix of a table's name. */
export function assertNames(schema: string, prefix: string): void {
  if (!PREFIX.test(prefix)) {
    throw new StateError("INVALID_ARGUMENT", "tablePrefix must be letters, digits and underscores, at most 40 of them");
  }
  if (!SCHEMA.test(schema)) {
    throw new StateError("INVALID_ARGUMENT", "schema must be letters, digits and underscores, at most 63 of them");
  }
}
