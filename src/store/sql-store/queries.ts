import { encodeNamespace, rangeBelow } from "../driver/namespaces.ts";
import type { ItemId, Namespace, Scope } from "../driver/store-driver.ts";
import { type FieldHooks, type Filter, filterOf } from "./conditions.ts";
import { joined, number, raw, type Sql, sql, text, type Value } from "./sql.ts";

/** What the queries of a store say in the words of one database. Its tables keep one row `i` for each item. */
export interface StoreDialect {
  readonly items: Sql;
  /** The database's clock, as the column `expires_at` has times. Evaluated once for a statement. */
  readonly now: Sql;
  readonly fields: FieldHooks;
  /** Whether an index serves `(namespace, key) > (…, …)`. */
  readonly comparesRows: boolean;
  /** Ends a query that is to return at most this many rows. */
  limit(most: number): Sql;
  /** That the row `i` is one of these items. @default named one by one */
  named?(ids: readonly ItemId[]): Sql;
  readonly vectors: VectorDialect;
}

/** How the vector of the row `i` is read. */
export interface VectorDialect {
  /** Follows the table of items where vectors have a table of their own; empty where they stand in the row. */
  readonly join: Sql;
  readonly vector: Sql;
  readonly dims: Sql;
  /** That there is a vector. */
  readonly isThere: Sql;
  /** Finds the length of any vector quickly. */
  readonly anyLength: Sql;
}

/** Items with all their columns, however the database reads those. */
export type ItemQuery = (columns: Sql) => Sql;

/** The condition that selects the rows `i` of a scope, and what is left to check in each of them. */
export interface Within extends Filter {
  readonly sql: Sql;
}

export const isLive = ({ now }: StoreDialect): Sql => sql`(i.expires_at IS NULL OR i.expires_at > ${now})`;

export function within(dialect: StoreDialect, scope: Scope): Within {
  const { sql: filter, rest } = filterOf(scope.condition, dialect.fields);
  const pieces = [isLive(dialect), ...placedIn(scope), ...(filter === undefined ? [] : [filter])];
  return { sql: joined(pieces, " AND "), rest };
}

/** Where the rows `i` of a namespace lie; nothing where it is all of them. */
export function placedIn({ namespace, recursive }: Omit<Scope, "condition">): readonly Sql[] {
  const [from, before] = rangeBelow(namespace);
  if (!recursive) return [sql`i.namespace = ${text(from)}`];
  return before === undefined ? [] : [sql`i.namespace >= ${text(from)} AND i.namespace < ${text(before)}`];
}

export const readQuery =
  (dialect: StoreDialect, ids: readonly ItemId[]): ItemQuery =>
  (columns) =>
    sql`SELECT ${columns} FROM ${dialect.items} i WHERE ${named(dialect, ids)} AND ${isLive(dialect)}`;

const named = (dialect: StoreDialect, ids: readonly ItemId[]): Sql => dialect.named?.(ids) ?? namedOneByOne(ids);

function namedOneByOne(ids: readonly ItemId[]): Sql {
  const pairs = ids.map(({ namespace, key }) => sql`(${text(encodeNamespace(namespace))}, ${text(key)})`);
  return sql`(i.namespace, i.key) IN (${joined(pairs, ", ")})`;
}

export function scanQuery(dialect: StoreDialect, inside: Sql, after: ItemId | undefined, most: number): ItemQuery {
  const place = after === undefined ? raw("") : sql` AND ${behind(dialect, after)}`;
  return (columns) => sql`SELECT ${columns} FROM ${dialect.items} i WHERE ${inside}${place}
ORDER BY i.namespace, i.key ${dialect.limit(most)}`;
}

function behind({ comparesRows }: StoreDialect, { namespace, key }: ItemId): Sql {
  const [space, name] = [text(encodeNamespace(namespace)), text(key)];
  if (comparesRows) return sql`(i.namespace, i.key) > (${space}, ${name})`;
  return sql`(i.namespace > ${space} OR (i.namespace = ${space} AND i.key > ${name}))`;
}

export function namespacesQuery(
  dialect: StoreDialect,
  prefix: Namespace,
  after: Namespace | undefined,
  most: number,
): Sql {
  const inside = within(dialect, { namespace: prefix, recursive: true, condition: undefined });
  const place = after === undefined ? raw("") : sql` AND i.namespace > ${text(encodeNamespace(after))}`;
  return sql`SELECT DISTINCT i.namespace FROM ${dialect.items} i WHERE ${inside.sql}${place}
ORDER BY i.namespace ${dialect.limit(most)}`;
}

/** How many vectors a scope has, up to `most`; of one length, if it says which. */
export function countVectorsQuery(dialect: StoreDialect, inside: Sql, dims: number | undefined, most: number): Sql {
  const { vectors, items } = dialect;
  return sql`SELECT COUNT(*) AS found FROM (
SELECT i.id FROM ${items} i ${vectors.join} WHERE ${ofLength(vectors, dims)} AND ${inside} ${dialect.limit(most)}) c`;
}

const ofLength = ({ isThere, dims: column }: VectorDialect, dims: number | undefined): Sql =>
  dims === undefined ? isThere : sql`${column} = ${number(dims)}`;

/** The vectors of a scope, some at a time, in the order of the items' ids. */
export const vectorsQuery =
  (dialect: StoreDialect, inside: Sql, page: { readonly dims: number; readonly after: Value; readonly most: number }) =>
  (columns: Sql): Sql => {
    const { vectors, items } = dialect;
    return sql`SELECT i.id, ${vectors.vector} AS embedding${columns} FROM ${items} i ${vectors.join}
WHERE ${ofLength(vectors, page.dims)} AND i.id > ${page.after} AND ${inside} ORDER BY i.id ${dialect.limit(page.most)}`;
  };

/** Items by their rows' ids. */
export const byIdQuery =
  (dialect: StoreDialect, ids: readonly Value[]): ItemQuery =>
  (columns) =>
    sql`SELECT i.id, ${columns} FROM ${dialect.items} i WHERE i.id IN (${listed(ids)})`;

const listed = (values: readonly Value[]): Sql =>
  joined(
    values.map((value) => sql`${value}`),
    ", ",
  );

export const readVectorQuery = (dialect: StoreDialect, id: ItemId): Sql =>
  sql`SELECT ${dialect.vectors.vector} AS embedding FROM ${dialect.items} i ${dialect.vectors.join}
WHERE ${named(dialect, [id])} AND ${dialect.vectors.isThere} AND ${isLive(dialect)}`;

export function dimensionQuery(dialect: StoreDialect, below: Namespace): Sql {
  const { vectors, items, limit } = dialect;
  const [range] = placedIn({ namespace: below, recursive: true });
  if (range === undefined) return vectors.anyLength;
  return sql`SELECT ${vectors.dims} AS dims FROM ${items} i ${vectors.join} WHERE ${vectors.isThere} AND ${range} ${limit(1)}`;
}

/**
 * Okapi BM25 over a scope, as in bm25.ts, where words have a table of their own: `item`, `word` and how much it counts;
 * and each item its number of words, `word_count`. One score for each item.
 */
export function bm25Scores(dialect: StoreDialect, words: Sql, wanted: readonly string[], inside: Sql): Sql {
  const { items } = dialect;
  const list = listed(wanted.map(text));
  return sql`SELECT m.item, SUM(LN(1 + (t.total - m.having_it + 0.5) / (m.having_it + 0.5)) * m.weight * 2.2
    / (m.weight + 1.2 * (0.25 + 0.75 * m.word_count / t.average))) AS score
  FROM (
    SELECT w.item, w.weight, i.word_count, COUNT(*) OVER (PARTITION BY w.word) AS having_it
    FROM ${words} w JOIN ${items} i ON i.id = w.item WHERE w.word IN (${list}) AND ${inside}) m
  CROSS JOIN (
    SELECT COUNT(*) AS total, COALESCE(AVG(i.word_count), 1) AS average FROM ${items} i
    WHERE i.word_count > 0 AND ${inside}) t
  GROUP BY m.item`;
}

/** The best of what gives items their scores. */
export const rankedQuery =
  (dialect: StoreDialect, scores: Sql, most: number): ItemQuery =>
  (columns) =>
    sql`SELECT ${columns}, r.score FROM (
  ${scores} ORDER BY score DESC, item ${dialect.limit(most)}) r
JOIN ${dialect.items} i ON i.id = r.item ORDER BY r.score DESC, r.item`;
