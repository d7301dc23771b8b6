import { newId } from "../../driver/ids.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { encodeId, encodeNamespace } from "../driver/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  type PutChange,
  type Scope,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../driver/store-driver.ts";
import { countWords } from "../search/bm25.ts";
import { vectorToBytes } from "../search/vectors.ts";
import { readQuery, type StoreDialect, within } from "./queries.ts";
import { joined, number, raw, type Sql, sql, text, vector } from "./sql.ts";
import { itemOf, type SqlRow } from "./sql-store-driver.ts";

/** The tables of items, as `plainWrite` writes them. The names of columns stand as `queries.ts` has them. */
export interface PlainStoreTables {
  readonly items: string;
  readonly words: string;
  readonly vectors: string;
  readonly writes: string;
  readonly buckets: string;
}

/** Runs one statement of a transaction. */
export type AskInTransaction = (statement: Sql) => Promise<readonly SqlRow[]>;

/** Writers of different buckets never wait for each other. */
export const BUCKETS = 64;

const bucketOf = (change: Change): number =>
  (nodeCrypto().createHash("sha256").update(encodeId(change)).digest()[0] ?? 0) % BUCKETS;

/** How many rows one statement inserts or names. */
const ROWS_AT_ONCE = 500;
/** How many rows whose time is over a write also removes. */
const PER_SWEEP = 20;

const COLUMNS = raw("i.id, i.namespace, i.key, i.version, i.created_at, i.updated_at, i.expires_at, '' AS value");

/**
 * A write by the statements that every database has, in a transaction of the caller's. It first locks the rows of its
 * items' buckets, in one order, because an item that does not exist has no row to lock; what it reads after that is what
 * the previous holder left. Everything is checked before anything is changed.
 */
export async function plainWrite(
  ask: AskInTransaction,
  dialect: StoreDialect,
  tables: PlainStoreTables,
  changes: readonly Change[],
): Promise<WriteOutcome> {
  const buckets = [...new Set(changes.map(bucketOf))].sort((a, b) => a - b);
  await ask(lockBuckets(tables, buckets));
  const now = Number((await ask(sql`SELECT ${dialect.now} AS now`))[0]?.["now"]);
  const known = await knownWrites(ask, tables, changes);
  const items = new Map(
    (await ask(readQuery({ ...dialect, now: raw("0") }, changes)(COLUMNS))).map((row) => [encodeId(itemOf(row)), row]),
  );
  const isLive = (row: SqlRow | undefined): row is SqlRow => {
    const { expiresAt } = row === undefined ? { expiresAt: 0 } : itemOf(row);
    return expiresAt === undefined || expiresAt > now;
  };
  for (const [index, { writeKey, digest, expected, ...id }] of changes.entries()) {
    const before = known.get(writeKey);
    if (before !== undefined && before["digest"] !== digest) {
      return { applied: false, index, because: "write key", version: null };
    }
    if (expected === undefined || before !== undefined) continue;
    const row = items.get(encodeId(id));
    const version = isLive(row) ? itemOf(row).version : null;
    if (version !== expected) return { applied: false, index, because: "version", version };
  }
  const results: ChangeResult[] = [];
  const words: Sql[] = [];
  for (const change of changes) {
    const before = known.get(change.writeKey);
    if (before !== undefined) {
      results.push({ ...stampOf(before), repeated: true });
      continue;
    }
    const row = items.get(encodeId(change));
    if (row !== undefined) await ask(sql`DELETE FROM ${raw(tables.items)} WHERE id = ${text(String(row["id"]))}`);
    const old = isLive(row) ? itemOf(row) : undefined;
    const createdAt = old?.createdAt ?? now;
    const result: ChangeResult =
      change.kind === "remove"
        ? { version: old?.version ?? null, createdAt, updatedAt: now, expiresAt: old?.expiresAt, repeated: false }
        : {
            version: change.version,
            createdAt,
            updatedAt: now,
            expiresAt: endOf(change, old?.expiresAt, now),
            repeated: false,
          };
    if (change.kind === "put") words.push(...(await insertItem(ask, tables, change, result)));
    await ask(sql`INSERT INTO ${raw(tables.writes)} (write_key, bucket, digest, version, created_at, updated_at, expires_at)
      VALUES (${text(change.writeKey)}, ${number(bucketOf(change))}, ${text(change.digest)}, ${text(result.version)},
        ${number(createdAt)}, ${number(now)}, ${number(result.expiresAt ?? null)})`);
    results.push(result);
  }
  for (let at = 0; at < words.length; at += ROWS_AT_ONCE) {
    const some = joined(words.slice(at, at + ROWS_AT_ONCE), ", ");
    await ask(sql`INSERT INTO ${raw(tables.words)} (item, word, weight) VALUES ${some}`);
  }
  const own = joined(
    buckets.map((bucket) => sql`${number(bucket)}`),
    ", ",
  );
  await ask(
    sql`DELETE FROM ${raw(tables.items)} WHERE bucket IN (${own}) AND expires_at <= ${number(now)} ${dialect.limit(PER_SWEEP)}`,
  );
  const forgotten = number(now - WRITES_REMEMBERED_MS);
  await ask(
    sql`DELETE FROM ${raw(tables.writes)} WHERE bucket IN (${own}) AND updated_at < ${forgotten} ${dialect.limit(PER_SWEEP)}`,
  );
  return { applied: true, results };
}

/** Keeps every writer out, so that nothing is written meanwhile to what it takes out. */
export async function plainClear(
  ask: AskInTransaction,
  dialect: StoreDialect,
  tables: PlainStoreTables,
  scope: Omit<Scope, "condition">,
  options: { readonly before: number; readonly limit: number },
): Promise<number> {
  await ask(
    lockBuckets(
      tables,
      Array.from({ length: BUCKETS }, (_, bucket) => bucket),
    ),
  );
  const inside = within(dialect, { ...scope, condition: undefined }).sql;
  const old = await ask(sql`SELECT i.id FROM ${dialect.items} i
    WHERE ${inside} AND i.updated_at <= ${number(options.before)} ${dialect.limit(options.limit)}`);
  for (let at = 0; at < old.length; at += ROWS_AT_ONCE) {
    const some = old.slice(at, at + ROWS_AT_ONCE).map((row) => sql`${text(String(row["id"]))}`);
    await ask(sql`DELETE FROM ${raw(tables.items)} WHERE id IN (${joined(some, ", ")})`);
  }
  return old.length;
}

const lockBuckets = ({ buckets }: PlainStoreTables, which: readonly number[]): Sql => {
  const list = which.map((bucket) => sql`${number(bucket)}`);
  return sql`SELECT bucket FROM ${raw(buckets)} WHERE bucket IN (${joined(list, ", ")}) ORDER BY bucket FOR UPDATE`;
};

async function knownWrites(
  ask: AskInTransaction,
  { writes }: PlainStoreTables,
  changes: readonly Change[],
): Promise<ReadonlyMap<string, SqlRow>> {
  const keys = changes.map(({ writeKey }) => sql`${text(writeKey)}`);
  const rows = await ask(sql`SELECT write_key, digest, version, created_at, updated_at, expires_at
    FROM ${raw(writes)} WHERE write_key IN (${joined(keys, ", ")})`);
  return new Map(rows.map((row) => [String(row["write_key"]), { ...row, digest: String(row["digest"]) }]));
}

const stampOf = (row: SqlRow): Omit<ChangeResult, "repeated"> => ({
  version: row["version"] == null ? null : String(row["version"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  expiresAt: row["expires_at"] == null ? undefined : Number(row["expires_at"]),
});

function endOf({ ttlMs }: PutChange, before: number | undefined, now: number): number | undefined {
  if (ttlMs === "keep") return before;
  return ttlMs === undefined ? undefined : now + Math.round(ttlMs);
}

/** One statement for each: together, large values would not fit what a server takes at once. Its words are left to the caller. */
async function insertItem(
  ask: AskInTransaction,
  { items, vectors }: PlainStoreTables,
  change: PutChange,
  { createdAt, updatedAt, expiresAt }: ChangeResult,
): Promise<readonly Sql[]> {
  const id = text(newId());
  const { counts, length } = change.words === undefined ? NO_WORDS : countWords(change.words);
  await ask(sql`INSERT INTO ${raw(items)}
    (namespace, ${KEY}, id, bucket, version, created_at, updated_at, expires_at, value, metadata, word_count)
    VALUES (${text(encodeNamespace(change.namespace))}, ${text(change.key)}, ${id}, ${number(bucketOf(change))},
      ${text(change.version)}, ${number(createdAt)}, ${number(updatedAt)}, ${number(expiresAt ?? null)},
      ${text(change.value)}, ${text(change.metadata ?? null)}, ${number(length)})`);
  if (change.vector !== undefined) {
    await ask(sql`INSERT INTO ${raw(vectors)} (item, dims, vector)
      VALUES (${id}, ${number(change.vector.length)}, ${vector(vectorToBytes(change.vector))})`);
  }
  return [...counts].map(([word, weight]) => sql`(${id}, ${text(word)}, ${text(String(weight))})`);
}

const NO_WORDS = { counts: new Map<string, number>(), length: 0 };
/** A reserved word where it stands alone. */
const KEY = raw("`key`");
