import { StateError } from "../errors.ts";
import type { StateFields } from "./state-fields.ts";

/** The version of *your* part of the state (metadata, provider state), and how to migrate an older one. */
export interface StateSchema {
  /** A whole number, 1 or greater. States saved without a schema count as version 0. */
  readonly version: number;
  /**
   * Called once for each version between the stored one and `version`, in order:
   * `migrate(fields, 0)` turns version 0 into 1. Must return new fields and leave the given ones alone.
   */
  migrate(fields: StateFields, fromVersion: number): StateFields;
}

export function migrateFields(fields: StateFields, stored: number, schema: StateSchema | undefined): StateFields {
  const target = schema?.version ?? stored;
  if (stored > target) {
    throw new StateError(
      "INCOMPATIBLE",
      `the state has schema version ${stored}; this program knows up to ${target}. Deploy the newer program to read it`,
    );
  }
  let migrated = fields;
  for (let version = stored; schema !== undefined && version < target; version++) {
    migrated = schema.migrate(migrated, version);
  }
  return migrated;
}
