import { encodeNamespace, rangeBelow } from "../../store/namespaces.ts";
import type { ItemId, Namespace, Scope } from "../../store/store-driver.ts";
import { type Binds, number, text, vector } from "./binds.ts";
import { filledUp } from "./filled-up.ts";
import { aliveIn, ISO_FORMAT, NOW } from "./sql-clock.ts";
import type { Reading } from "./statements.ts";
import { narrowing, QueryBinds } from "./store-conditions.ts";
import { BUCKETS, type StoreTables } from "./store-layout.ts";

/** A query of items, and its binds. */
export interface ItemQuery {
  readonly reading: Reading;
  readonly binds: Binds;
}

const moment = (column: string): string => `TO_CHAR(i.${column}, ${ISO_FORMAT}) AS ${column}`;
const SHORT = [
  ...["i.namespace", "i.key", "i.version", moment("created_at"), moment("updated_at"), moment("expires_at")],
  ...["i.value", "i.metadata", "i.lengthy"],
].join(", ");
const LONG = `${SHORT}, i.long_value, i.long_metadata`;

const asked = (query: (columns: string) => string, binds: QueryBinds): ItemQuery => ({
  reading: { short: query(SHORT), long: query(LONG) },
  binds: binds.all,
});

/** The condition that selects the rows `i` of a scope; with a filter, also a few others. */
function inside({ namespace, recursive, condition }: Scope, binds: QueryBinds): string {
  const [from, before] = rangeBelow(namespace);
  const pieces = [aliveIn("i")];
  if (!recursive) pieces.push(`i.namespace = ${binds.add(text(from))}`);
  else if (before !== undefined) {
    pieces.push(`i.namespace >= ${binds.add(text(from))} AND i.namespace < ${binds.add(text(before))}`);
  }
  const narrowed = narrowing(condition, binds);
  return [...pieces, ...(narrowed === undefined ? [] : [narrowed])].join(" AND ");
}

/** How many ids one query has. Shorter lists are padded, so that there are few different texts. */
const SIZES = [1, 8, 64];
export const MOST_IDS = 64;

export function readQuery({ items }: StoreTables, ids: readonly ItemId[]): ItemQuery {
  const binds = new QueryBinds();
  const pairs = filledUp(ids, SIZES).map(
    ({ namespace, key }) => `(${binds.add(text(encodeNamespace(namespace)))}, ${binds.add(text(key))})`,
  );
  const named = `(i.namespace, i.key) IN (${pairs.join(", ")})`;
  return asked((columns) => `SELECT ${columns} FROM ${items} i WHERE ${named} AND ${aliveIn("i")}`, binds);
}

export function scanQuery({ items }: StoreTables, scope: Scope, after: ItemId | undefined, limit: number): ItemQuery {
  const binds = new QueryBinds();
  const conditions = [inside(scope, binds)];
  if (after !== undefined) {
    const namespace = binds.add(text(encodeNamespace(after.namespace)));
    const key = binds.add(text(after.key));
    conditions.push(`(i.namespace > ${namespace} OR (i.namespace = ${namespace} AND i.key > ${key}))`);
  }
  const most = binds.add(number(limit));
  return asked(
    (columns) => `SELECT ${columns} FROM ${items} i WHERE ${conditions.join(" AND ")}
ORDER BY i.namespace, i.key FETCH FIRST ${most} ROWS ONLY`,
    binds,
  );
}

interface Query {
  readonly statement: string;
  readonly binds: Binds;
}

export function namespacesQuery(
  { items }: StoreTables,
  prefix: Namespace,
  after: Namespace | undefined,
  limit: number,
): Query {
  const binds = new QueryBinds();
  const scope = { namespace: prefix, recursive: true, condition: undefined };
  const behind = after && ` AND i.namespace > ${binds.add(text(encodeNamespace(after)))}`;
  const statement = `SELECT DISTINCT i.namespace FROM ${items} i WHERE ${inside(scope, binds)}${behind ?? ""}
ORDER BY i.namespace FETCH FIRST ${binds.add(number(limit))} ROWS ONLY`;
  return { statement, binds: binds.all };
}

/** The sizes of a word list; longer queries are cut. */
const WORD_SIZES = [1, 4, 16, 64, 256];
const MOST_WORDS = 256;

/** Okapi BM25 over the scope, as in bm25.ts. */
export function textQuery(
  { items, words }: StoreTables,
  scope: Scope,
  asking: readonly string[],
  most: number,
): ItemQuery {
  const binds = new QueryBinds();
  const wanted = filledUp(asking.slice(0, MOST_WORDS), WORD_SIZES).map((word) => binds.add(text(word)));
  const within = inside(scope, binds);
  const limit = binds.add(number(most));
  return asked(
    (columns) => `SELECT ${columns}, r.score FROM (
  SELECT m.item, SUM(LN(1 + (t.total - m.having_it + 0.5) / (m.having_it + 0.5)) * m.weight * 2.2
    / (m.weight + 1.2 * (0.25 + 0.75 * m.word_count / t.average))) AS score
  FROM (
    SELECT w.item, w.weight, i.word_count, COUNT(*) OVER (PARTITION BY w.word) AS having_it
    FROM ${words} w JOIN ${items} i ON i.id = w.item WHERE w.word IN (${wanted.join(", ")}) AND ${within}) m
  CROSS JOIN (
    SELECT COUNT(*) AS total, COALESCE(AVG(i.word_count), 1) AS average FROM ${items} i
    WHERE i.word_count > 0 AND ${within}) t
  GROUP BY m.item ORDER BY score DESC, m.item FETCH FIRST ${limit} ROWS ONLY) r
JOIN ${items} i ON i.id = r.item ORDER BY r.score DESC, r.item`,
    binds,
  );
}

/** `approximate` lets the server use an index; without it every vector of the scope is compared. */
export function vectorQuery(
  { items }: StoreTables,
  scope: Scope,
  query: Float32Array,
  { most, approximate }: { readonly most: number; readonly approximate: boolean },
): ItemQuery {
  const binds = new QueryBinds();
  const distance = `VECTOR_DISTANCE(i.embedding, ${binds.add(vector(query))}, COSINE)`;
  const within = inside(scope, binds);
  const limit = binds.add(number(most));
  const order = approximate
    ? `ORDER BY ${distance} FETCH APPROX FIRST ${limit} ROWS ONLY`
    : `ORDER BY distance, i.id FETCH FIRST ${limit} ROWS ONLY`;
  return asked(
    (columns) => `SELECT ${columns}, 1 - r.distance AS score FROM (
  SELECT i.id, ${distance} AS distance FROM ${items} i WHERE i.embedding IS NOT NULL AND ${within}
  ${order}) r
JOIN ${items} i ON i.id = r.id ORDER BY r.distance, r.id`,
    binds,
  );
}

/** How many vectors the scope has, up to `most`. */
export function countVectorsQuery({ items }: StoreTables, scope: Scope, most: number): Query {
  const binds = new QueryBinds();
  const within = inside(scope, binds);
  const statement = `SELECT COUNT(*) AS found FROM (
  SELECT i.id FROM ${items} i WHERE i.embedding IS NOT NULL AND ${within} FETCH FIRST ${binds.add(number(most))} ROWS ONLY) c`;
  return { statement, binds: binds.all };
}

export const readVectorSql = ({ items }: StoreTables): string =>
  `SELECT i.embedding FROM ${items} i WHERE i.namespace = :b_namespace AND i.key = :b_key AND ${aliveIn("i")}`;

export const dimensionSql = ({ items }: StoreTables): string =>
  `SELECT VECTOR_DIMENSION_COUNT(i.embedding) AS dims FROM ${items} i WHERE i.embedding IS NOT NULL FETCH FIRST 1 ROWS ONLY`;

/** Rounded like the stored times, so that it is never before what was just written. */
export const STORE_NOW: string = `SELECT TO_CHAR(CAST(${NOW} AS TIMESTAMP(3)), ${ISO_FORMAT}) AS clock FROM dual`;

/** What to clear: everything, the namespace itself, or the namespace and all below it. */
export type ClearedScope = "all" | "own" | "below";

const CLEARED: Readonly<Record<ClearedScope, string>> = {
  all: "1 = 1",
  own: "i.namespace = v_from",
  below: "i.namespace >= v_from AND i.namespace < v_before",
};

/** Locks the rows of all buckets, so that nothing is written meanwhile to what it deletes. */
export const clearBlock = ({ items, buckets }: StoreTables, scope: ClearedScope): string => `DECLARE
  v_from VARCHAR2(1088 BYTE) := :b_from;
  v_before VARCHAR2(1088 BYTE) := :b_before;
  v_written TIMESTAMP(3) := TO_TIMESTAMP(:b_written, ${ISO_FORMAT});
  v_most NUMBER := :b_most;
  v_now TIMESTAMP(3);
  v_count NUMBER := 0;
  v_bucket NUMBER;
BEGIN
  FOR place IN 0 .. ${BUCKETS - 1} LOOP
    SELECT bucket INTO v_bucket FROM ${buckets} WHERE bucket = place FOR UPDATE;
  END LOOP;
  v_now := ${NOW};
  FOR victim IN (SELECT i.id FROM ${items} i
    WHERE ${CLEARED[scope]} AND i.updated_at <= v_written AND (i.expires_at IS NULL OR i.expires_at > v_now)) LOOP
    EXIT WHEN v_count >= v_most;
    DELETE FROM ${items} WHERE id = victim.id;
    v_count := v_count + 1;
  END LOOP;
  :b_count := v_count;
END;`;
