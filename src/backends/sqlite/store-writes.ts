import {
  type Change,
  type ChangeResult,
  type PutChange,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { vectorToBytes } from "../../store/search/vectors.ts";
import { type ItemRow, idValues, orNull, toResult, type WriteRow } from "./store-rows.ts";
import type { StoreStatements } from "./store-statements.ts";

/** The results of a write, and whether it removed anything that must be erased from the file. */
export interface Written {
  readonly outcome: WriteOutcome;
  readonly erases: boolean;
}

/** Makes all changes, inside the caller's transaction. */
export function writeChanges(statements: StoreStatements, changes: readonly Change[], now: number): Written {
  for (const [index, change] of changes.entries()) {
    const known = statements.findWrite.get(change.writeKey) as WriteRow | undefined;
    if (known !== undefined && known.digest !== change.digest) {
      return { outcome: { applied: false, index, because: "write key", version: null }, erases: false };
    }
    if (change.expected === undefined || known !== undefined) continue;
    const version = live(statements, change, now)?.version ?? null;
    if (version !== change.expected) {
      return { outcome: { applied: false, index, because: "version", version }, erases: false };
    }
  }
  let erases = sweep(statements, now);
  const results = changes.map((change) => {
    const known = statements.findWrite.get(change.writeKey) as WriteRow | undefined;
    if (known !== undefined) return toResult(known, true);
    const before = statements.find.get(...idValues(change)) as ItemRow | undefined;
    if (before !== undefined) erases = true;
    const result = change.kind === "put" ? put(statements, change, before, now) : remove(statements, before, now);
    const { version, createdAt, updatedAt, expiresAt } = result;
    statements.insertWrite.run(change.writeKey, change.digest, version, createdAt, updatedAt, orNull(expiresAt));
    return result;
  });
  return { outcome: { applied: true, results }, erases };
}

function put(statements: StoreStatements, change: PutChange, found: ItemRow | undefined, now: number): ChangeResult {
  const before = found !== undefined && isLive(found, now) ? found : undefined;
  if (found !== undefined && before === undefined) take(statements, found);
  const { version, value, metadata, fields, words, vector, ttlMs } = change;
  const expiresAt = ttlMs === "keep" ? (before?.expires_at ?? null) : ttlMs === undefined ? null : now + ttlMs;
  const createdAt = before?.created_at ?? now;
  const row = [
    ...([version, createdAt, now, expiresAt, value, orNull(metadata)] as const),
    fields.value === value ? null : fields.value,
    fields.metadata === (metadata ?? "{}") ? null : fields.metadata,
  ] as const;
  let id: number;
  if (before === undefined) ({ id } = statements.insert.get(...idValues(change), ...row) as { id: number });
  else {
    ({ id } = before);
    statements.update.run(...row, id);
    statements.removeWords.run(id);
    statements.removeVector.run(id);
  }
  if (words !== undefined) statements.insertWords.run(id, words.text, words.label, words.before, words.after);
  if (vector !== undefined) insertVector(statements, id, vector, version);
  return { version, createdAt, updatedAt: now, expiresAt: expiresAt ?? undefined, repeated: false };
}

/** With a note of which write made it, which outlives it for a while: by that a reader tells that the file went back in time. */
function insertVector(statements: StoreStatements, item: number, vector: Float32Array, version: string): void {
  const { id } = statements.insertVector.get(item, vector.length, vectorToBytes(vector)) as { id: number };
  statements.insertPut.run(id, version);
  statements.forgetPut.run(id - PUTS_REMEMBERED);
}

function remove(statements: StoreStatements, found: ItemRow | undefined, now: number): ChangeResult {
  if (found !== undefined) take(statements, found);
  const before = found !== undefined && isLive(found, now) ? found : undefined;
  const expiresAt = before?.expires_at ?? undefined;
  return {
    version: before?.version ?? null,
    createdAt: before?.created_at ?? now,
    updatedAt: now,
    expiresAt,
    repeated: false,
  };
}

/** Deletes an item with everything that was kept for it. */
export function take(statements: StoreStatements, { id }: Pick<ItemRow, "id">): void {
  statements.removeWords.run(id);
  statements.removeVector.run(id);
  statements.remove.run(id);
}

/** Deletes a few expired items and a few write ids that are too old to be retried. */
function sweep(statements: StoreStatements, now: number): boolean {
  const ended = statements.ended.all(now) as Pick<ItemRow, "id">[];
  for (const row of ended) take(statements, row);
  statements.forgetWrites.run(now - WRITES_REMEMBERED_MS);
  return ended.length > 0;
}

function live(statements: StoreStatements, change: Change, now: number): ItemRow | undefined {
  const row = statements.find.get(...idValues(change)) as ItemRow | undefined;
  return row !== undefined && isLive(row, now) ? row : undefined;
}

export const isLive = ({ expires_at }: Pick<ItemRow, "expires_at">, now: number): boolean =>
  expires_at === null || expires_at > now;

/** A reader that is further behind reads all vectors of a scope again. */
const PUTS_REMEMBERED = 10_000;
