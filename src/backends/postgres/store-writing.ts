import { encodeNamespace } from "../../store/driver/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/driver/store-driver.ts";
import type { TextRow } from "./ask.ts";
import { tsvectorOf } from "./store-words.ts";

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

/** What the function that writes answers. */
export function outcomeOf(rows: readonly TextRow[]): WriteOutcome {
  const refused = rows.find((row) => row["applied"] === "f");
  if (refused === undefined) return { applied: true, results: rows.map(toResult) };
  const because = refused["repeated"] === "t" ? "write key" : "version";
  return { applied: false, index: Number(refused["change"]) - 1, because, version: refused["r_version"] ?? null };
}

const toResult = (row: TextRow): ChangeResult => ({
  version: row["r_version"] ?? null,
  createdAt: Number(row["r_created_at"]),
  updatedAt: Number(row["r_updated_at"]),
  expiresAt: row["r_expires_at"] == null ? undefined : Number(row["r_expires_at"]),
  repeated: row["repeated"] === "t",
});
