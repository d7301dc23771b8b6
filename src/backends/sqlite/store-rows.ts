import type { JsonValue } from "../../state/values/codec.ts";
import { encodeNamespace } from "../../store/driver/namespaces.ts";
import type { ChangeResult, ItemId, Scope, StoredItem } from "../../store/driver/store-driver.ts";
import type { ItemFields } from "../../store/search/item-fields.ts";
import { itemOf, type SqlRow } from "../../store/sql-store/sql-store-driver.ts";
import type { SqliteValue } from "./connect.ts";

/** A row of the items table, with the columns that filters look at. */
export interface ItemRow extends SqlRow {
  readonly id: number;
  readonly namespace: string;
  readonly key: string;
  readonly version: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
  readonly value: string;
  readonly metadata: string | null;
  readonly value_fields: string | null;
  readonly metadata_fields: string | null;
}

export const ITEM_COLUMNS =
  "i.id, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, i.value, i.metadata, i.value_fields, i.metadata_fields";

export interface WriteRow {
  readonly digest: string;
  readonly version: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
}

export const toResult = (row: WriteRow, repeated: boolean): ChangeResult => ({
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  expiresAt: row.expires_at ?? undefined,
  repeated,
});

/** What filters look at; `undefined` if it is damaged. */
export function fieldsOf(row: ItemRow): ItemFields | undefined {
  try {
    return {
      value: JSON.parse(row.value_fields ?? row.value) as JsonValue,
      metadata: JSON.parse(row.metadata_fields ?? row.metadata ?? "{}") as JsonValue,
    };
  } catch {
    return undefined;
  }
}

/**
 * An item that SQL found. Whether a filter means a damaged one cannot be told: its
 * value is handed on as one that cannot be read, so that the item is named and not shown.
 */
export const toFoundItem = (row: ItemRow, condition: Scope["condition"]): StoredItem =>
  condition === undefined || fieldsOf(row) !== undefined ? itemOf(row) : { ...itemOf(row), value: "" };

export const idValues = ({ namespace, key }: ItemId): readonly [string, string] => [encodeNamespace(namespace), key];

/** SQLite accepts neither booleans nor undefined. */
export const orNull = <Value extends SqliteValue>(value: Value | undefined): Value | null => value ?? null;
