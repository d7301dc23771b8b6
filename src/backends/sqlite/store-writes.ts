import {
  type Change,
  type ChangeResult,
  type PutChange,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/store-driver.ts";
import { vectorToBytes } from "../../store/vector-bytes.ts";
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
    if (change.expected === undefined || statements.findWrite.get(change.writeKey) !== undefined) continue;
    const version = live(statements, change, now)?.version ?? 0;
    if (version !== change.expected) return { outcome: { applied: false, index, version }, erases: false };
  }
  let erases = sweep(statements, now);
  const results = changes.map((change) => {
    const known = statements.findWrite.get(change.writeKey) as WriteRow | undefined;
    if (known !== undefined) return toResult(known, true);
    const before = statements.find.get(...idValues(change)) as ItemRow | undefined;
    if (before !== undefined) erases = true;
    const result = change.kind === "put" ? put(statements, change, before, now) : remove(statements, before, now);
    const { version, createdAt, updatedAt, expiresAt } = result;
    statements.insertWrite.run(change.writeKey, version, createdAt, updatedAt, orNull(expiresAt));
    return result;
  });
  return { outcome: { applied: true, results }, erases };
}

function put(statements: StoreStatements, change: PutChange, found: ItemRow | undefined, now: number): ChangeResult {
  const before = found !== undefined && isLive(found, now) ? found : undefined;
  if (found !== undefined && before === undefined) take(statements, found);
  const { value, metadata, fields, words, vector, ttlMs } = change;
  const expiresAt = ttlMs === "keep" ? (before?.expires_at ?? null) : ttlMs === undefined ? null : now + ttlMs;
  const version = (before?.version ?? floorOf(statements)) + 1;
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
  if (vector !== undefined) statements.insertVector.run(id, vector.length, vectorToBytes(vector));
  return { version, createdAt, updatedAt: now, expiresAt: expiresAt ?? undefined, repeated: false };
}

function remove(statements: StoreStatements, found: ItemRow | undefined, now: number): ChangeResult {
  if (found !== undefined) take(statements, found);
  const before = found !== undefined && isLive(found, now) ? found : undefined;
  const expiresAt = before?.expires_at ?? undefined;
  return {
    version: before?.version ?? 0,
    createdAt: before?.created_at ?? now,
    updatedAt: now,
    expiresAt,
    repeated: false,
  };
}

/** Deletes an item with everything that was kept for it. */
export function take(statements: StoreStatements, { id, version }: Pick<ItemRow, "id" | "version">): void {
  statements.removeWords.run(id);
  statements.removeVector.run(id);
  statements.remove.run(id);
  statements.raiseFloor.run(version, version);
}

/** Deletes a few expired items and a few write ids that are too old to be retried. */
function sweep(statements: StoreStatements, now: number): boolean {
  const ended = statements.ended.all(now) as Pick<ItemRow, "id" | "version">[];
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

const floorOf = (statements: StoreStatements): number => (statements.floor.get() as { version: number }).version;
