import type { JsonValue } from "../../state/values/codec.ts";
import type { Scope, StoredItem } from "../../store/driver/store-driver.ts";
import { type ItemFields, matches } from "../../store/search/item-fields.ts";
import type { VectorRow } from "../../store/search/vector-table.ts";
import type { Argument } from "./port.ts";
import { asReply, asText } from "./replies.ts";
import type { Script } from "./scripts/script.ts";
import { READ_VECTORS } from "./scripts/store-scripts.ts";
import { decodeRecord, idOfVector, openVector, type Record, versionOfVector } from "./store-layout.ts";

export type RunStoreScript = (script: Script, args: readonly Argument[]) => Promise<unknown>;

/** A script that reads too many items would block all other clients. */
export const ITEMS_AT_ONCE = 200;

/** What an item with a vector has at one moment. */
export interface VectorItem {
  /** The name of its vector now; a caller that asked for another one learns that it was replaced. */
  readonly name: string;
  /** Unless only records were asked for. */
  readonly row: VectorRow<string> | undefined;
  /** If they were asked for, and can be read. */
  readonly fields: ItemFields | undefined;
}

/** For each name, what its item has now; `undefined` for one without a vector. At most `ITEMS_AT_ONCE` names. */
export async function readVectorItems(
  run: RunStoreScript,
  mode: "vectors" | "records" | "both",
  names: readonly string[],
): Promise<{ readonly now: number; readonly items: readonly (VectorItem | undefined)[] }> {
  if (names.length === 0) return { now: 0, items: [] };
  const [now, lines, ...found] = asReply(await run(READ_VECTORS, [mode, ...names])) ?? [];
  const each = mode === "both" ? 2 : 1;
  const items = asText(lines)
    .split("\n")
    .map((name, at) => {
      if (name === "") return undefined;
      const vector = mode === "records" ? null : found[at * each];
      const record = mode === "vectors" ? null : found[at * each + each - 1];
      return {
        name,
        row: vector == null ? undefined : toRow(name, vector),
        fields: record == null ? undefined : fieldsOf(decodeRecord(idOfVector(name), record)),
      };
    });
  return { now: Number(asText(now)), items };
}

const toRow = (name: string, bytes: Buffer): VectorRow<string> => ({
  key: name,
  stamp: versionOfVector(name),
  ...openVector(bytes),
});

/** What filters look at; `undefined` if it is damaged. */
function fieldsOf({ fields }: Record): ItemFields | undefined {
  try {
    return { value: JSON.parse(fields.value) as JsonValue, metadata: JSON.parse(fields.metadata) as JsonValue };
  } catch {
    return undefined;
  }
}

/**
 * The item of a record that a filter keeps. Whether it means a damaged one cannot be
 * told: that is handed on as an item that cannot be read, so that it is named and not shown.
 */
export function kept({ condition }: Scope, record: Record): StoredItem | undefined {
  if (condition === undefined) return record.item;
  const fields = fieldsOf(record);
  if (fields === undefined) return { ...record.item, value: "" };
  return matches(condition, fields) ? record.item : undefined;
}

/** For several requests at once: the server works on one while another is read here. */
export const parts = (names: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(names.length / ITEMS_AT_ONCE) }, (_, at) =>
    names.slice(at * ITEMS_AT_ONCE, (at + 1) * ITEMS_AT_ONCE),
  );
