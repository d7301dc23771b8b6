import { StateError } from "../../errors.ts";
import { decodeNamespace, encodeNamespace, rangeBelow } from "../../store/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  type Scope,
  type StoredItem,
  WRITES_REMEMBERED_MS,
} from "../../store/store-driver.ts";
import type { TextRow } from "./ask.ts";
import { conditionSql, type Values } from "./store-conditions.ts";
import { tsvectorOf } from "./store-words.ts";

/** The server's clock, in milliseconds since 1970. A subquery, so that it is evaluated once and not for every row. */
export const NOW_SQL = "(SELECT floor(extract(epoch FROM now()) * 1000)::bigint)";

export const ITEM_COLUMNS =
  "i.namespace, i.key, i.value, i.metadata, i.version, i.created_at, i.updated_at, i.expires_at";

export const toItem = (row: TextRow): StoredItem => ({
  namespace: decodeNamespace(row["namespace"] ?? ""),
  key: row["key"] ?? "",
  value: row["value"] ?? "",
  metadata: row["metadata"] ?? undefined,
  version: row["version"] ?? "",
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  expiresAt: orUndefined(row["expires_at"]),
});

export const toResult = (row: TextRow): ChangeResult => ({
  version: row["r_version"] ?? null,
  createdAt: Number(row["r_created_at"]),
  updatedAt: Number(row["r_updated_at"]),
  expiresAt: orUndefined(row["r_expires_at"]),
  repeated: row["repeated"] === "t",
});

const orUndefined = (text: string | null | undefined): number | undefined => (text == null ? undefined : Number(text));

/** The named parameters of the function that writes. */
const PARAMETERS: Readonly<Record<string, (changes: readonly Change[]) => unknown>> = {
  kinds: (changes) => changes.map(({ kind }) => kind),
  namespaces: (changes) => changes.map(({ namespace }) => encodeNamespace(namespace)),
  keys: (changes) => changes.map(({ key }) => key),
  write_keys: (changes) => changes.map(({ writeKey }) => writeKey),
  digests: (changes) => changes.map(({ digest }) => digest),
  expected: (changes) => changes.map(({ expected }) => (expected === undefined ? null : (expected ?? ""))),
  versions: column(({ version }) => version),
  values: column(({ value }) => value),
  metadatas: column(({ metadata }) => metadata ?? null),
  value_fields: column(({ fields }) => fields.value),
  metadata_fields: column(({ fields }) => fields.metadata),
  words: column(({ words }) => tsvectorOf(words)),
  vectors: column(({ vector }) => (vector === undefined ? null : `{${vector.join(",")}}`)),
  ttls: column(({ ttlMs }) => (typeof ttlMs === "number" ? ttlMs : null)),
  keeps: column(({ ttlMs }) => ttlMs === "keep"),
  remembered_ms: () => WRITES_REMEMBERED_MS,
};

function column(value: (change: Extract<Change, { kind: "put" }>) => unknown): (changes: readonly Change[]) => unknown {
  return (changes) => changes.map((change) => (change.kind === "put" ? value(change) : null));
}

/** `SELECT * FROM "holdfast_write_items" (p_kinds => $1, …)` */
export const writeSql = (name: string): string =>
  `SELECT * FROM ${name} (${Object.keys(PARAMETERS)
    .map((parameter, index) => `p_${parameter} => $${index + 1}`)
    .join(", ")}) ORDER BY change`;

export const writeValues = (changes: readonly Change[]): readonly unknown[] =>
  Object.values(PARAMETERS).map((value) => value(changes));

/** The condition that selects the rows `i` of a scope. */
export function scopeSql({ namespace, recursive, condition }: Scope, values: Values): string {
  const [from, before] = rangeBelow(namespace);
  const pieces = [`(i.expires_at IS NULL OR i.expires_at > ${NOW_SQL})`];
  if (!recursive) pieces.push(`i.namespace = ${values.add(from, "text")}`);
  else if (before !== undefined) {
    pieces.push(`i.namespace >= ${values.add(from, "text")} AND i.namespace < ${values.add(before, "text")}`);
  }
  if (condition !== undefined) pieces.push(conditionSql(condition, values));
  return pieces.join(" AND ");
}

/** Decodes a `real[]` as `array_send` writes it: a header of 20 bytes, then a length and a number per element. */
export function vectorOfSent(hex: string | null | undefined): Float32Array {
  if (!hex?.startsWith("\\x")) {
    throw new StateError("INCOMPATIBLE", "the server sends bytes in a form of its own: leave bytea_output at hex");
  }
  const bytes = Buffer.from(hex.slice(2), "hex");
  const vector = new Float32Array((bytes.byteLength - 20) / 8);
  for (let index = 0; index < vector.length; index++) vector[index] = bytes.readFloatBE(24 + index * 8);
  return vector;
}
