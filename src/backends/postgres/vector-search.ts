import { StateError } from "../../errors.ts";
import type { RankedItem, Scope, StoredItem } from "../../store/store-driver.ts";
import { TopHits } from "../../store/top-hits.ts";
import { cosine, norm } from "../../store/vectors.ts";
import type { TextRow } from "./ask.ts";
import type { TableNames } from "./layout.ts";
import { Values } from "./store-conditions.ts";
import { ITEM_COLUMNS, scopeSql, toItem, vectorOfSent } from "./store-rows.ts";

/** What the server offers for vectors. */
export interface VectorSupport {
  /** The quoted schema of the extension. */
  readonly schema: string;
  /** From 0.8 on, an index scan can continue when a filter left too few results. */
  readonly iterates: boolean;
  /** The dimensions that have an index. */
  readonly indexed: ReadonlySet<number>;
}

export interface VectorSearch {
  readonly ask: (text: string, values: readonly unknown[]) => Promise<readonly TextRow[]>;
  readonly names: TableNames;
  readonly support: VectorSupport | undefined;
  /** Up to this many vectors are compared exactly; more go through the index if there is one. */
  readonly exactUpTo: number;
}

/**
 * We choose the plan, not the planner. Left to itself, the planner uses the graph
 * index even for a filter that keeps one item in a hundred, and then finds a third
 * of them or fewer. If few items match, they are compared exactly, which is fast. If
 * many match, the index is used. If the index returned fewer than there are, they
 * are compared exactly after all.
 */
export async function searchVector(
  search: VectorSearch,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): Promise<readonly RankedItem[]> {
  const { support, exactUpTo } = search;
  if (support === undefined) return inThisProcess(search, scope, vector, limit);
  const canUseIndex = support.iterates && support.indexed.has(vector.length) && limit <= MOST_FROM_INDEX;
  if (!canUseIndex || (await countUpTo(search, scope, vector, exactUpTo)) <= exactUpTo) {
    return exact(search, support, scope, vector, limit);
  }
  const found = await throughIndex(search, support, scope, vector, limit);
  return found.length < limit ? exact(search, support, scope, vector, limit) : found;
}

/** An index scan examines at most 1000 candidates. */
const MOST_FROM_INDEX = 250;

export const indexName = ({ prefix }: TableNames, dims: number): string => `${prefix}items_hnsw_${dims}`;

/** The longest vectors that pgvector can index. */
export const MAX_INDEXED_DIMENSION = 2000;
export const createIndexSql = (names: TableNames, schema: string, dims: number): string =>
  `CREATE INDEX IF NOT EXISTS "${indexName(names, dims)}" ON ${names.itemVectors}
     USING hnsw ((vector::${schema}.vector(${dims})) ${schema}.vector_cosine_ops) WHERE dims = ${dims}`;

const joined = ({ items, itemVectors }: TableNames, dims: number): string =>
  `${items} i JOIN ${itemVectors} v ON v.item = i.id AND v.dims = ${dims}`;

async function countUpTo(
  { ask, names }: VectorSearch,
  scope: Scope,
  vector: Float32Array,
  most: number,
): Promise<number> {
  const values = new Values();
  const sql = `SELECT count(*) AS n FROM (
    SELECT FROM ${joined(names, vector.length)} WHERE ${scopeSql(scope, values)} LIMIT ${most + 1}) AS found`;
  const [row] = await ask(sql, values.list);
  return Number(row?.["n"]);
}

/** The distances are computed before sorting, so that the planner cannot use an index. */
async function exact(
  { ask, names }: VectorSearch,
  { schema }: VectorSupport,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): Promise<readonly RankedItem[]> {
  const values = new Values();
  const query = values.add(textOf(vector), `${schema}.vector`);
  const sql = `WITH near AS MATERIALIZED (
      SELECT i.id, v.vector::${schema}.vector OPERATOR(${schema}.<=>) ${query} AS distance
      FROM ${joined(names, vector.length)} WHERE ${scopeSql(scope, values)}),
    best AS MATERIALIZED (SELECT * FROM near ORDER BY distance, id LIMIT ${limit})
    SELECT ${ITEM_COLUMNS}, 1 - b.distance AS score FROM best b JOIN ${names.items} i ON i.id = b.id
    ORDER BY b.distance, b.id`;
  return (await ask(sql, values.list)).map(toHit);
}

/**
 * How many candidates the index examines. A filter may exclude whole regions of the
 * graph, so the nearest matches lie further away.
 */
function effortFor({ condition, namespace }: Scope, limit: number): number {
  const least = condition === undefined && namespace.length === 0 ? 200 : 400;
  return Math.min(1000, Math.max(least, 4 * limit));
}

/**
 * The settings hold for the statement's own transaction. They are evaluated first,
 * because the rest of the statement needs their row.
 */
async function throughIndex(
  { ask, names }: VectorSearch,
  { schema }: VectorSupport,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): Promise<readonly RankedItem[]> {
  const dims = vector.length;
  const values = new Values();
  const effort = values.add(String(effortFor(scope, limit)), "text");
  const query = values.add(textOf(vector), `${schema}.vector(${dims})`);
  const distance = `(v.vector::${schema}.vector(${dims})) OPERATOR(${schema}.<=>) ${query}`;
  const sql = `WITH settings AS MATERIALIZED (
      SELECT set_config('hnsw.ef_search', ${effort}, true) AS a, set_config('hnsw.iterative_scan', 'relaxed_order', true) AS b),
    near AS MATERIALIZED (
      SELECT f.id, f.distance FROM settings s CROSS JOIN LATERAL (
        SELECT i.id, ${distance} AS distance FROM ${names.itemVectors} v JOIN ${names.items} i ON i.id = v.item
        WHERE v.dims = ${dims} AND s.a IS NOT NULL AND ${scopeSql(scope, values)}
        ORDER BY ${distance} LIMIT ${limit}) AS f)
    SELECT ${ITEM_COLUMNS}, 1 - n.distance AS score FROM near n JOIN ${names.items} i ON i.id = n.id
    ORDER BY n.distance, n.id`;
  return (await ask(sql, values.list)).map(toHit);
}

const ROWS_PER_STEP = 1000;

/** Without the extension: the vectors of the scope are fetched and compared in this process, as long as they are few. */
async function inThisProcess(
  search: VectorSearch,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): Promise<readonly RankedItem[]> {
  const { ask, names, exactUpTo } = search;
  if ((await countUpTo(search, scope, vector, exactUpTo)) > exactUpTo) {
    throw new StateError(
      "TOO_LARGE",
      `more than ${exactUpTo} vectors would have to be compared, and the server has no pgvector: run CREATE EXTENSION vector in this database, or search a smaller namespace or with a filter`,
    );
  }
  const length = norm(vector);
  const best = new TopHits<string>(limit);
  for (let after = "0"; ; ) {
    const values = new Values();
    const sql = `SELECT i.id, array_send(v.vector) AS sent FROM ${joined(names, vector.length)}
      WHERE i.id > ${values.add(after, "bigint")} AND ${scopeSql(scope, values)} ORDER BY i.id LIMIT ${ROWS_PER_STEP}`;
    const rows = await ask(sql, values.list);
    for (const row of rows) {
      const other = vectorOfSent(row["sent"]);
      best.add(row["id"] ?? "", cosine(vector, other, length * norm(other)));
    }
    if (rows.length < ROWS_PER_STEP) break;
    after = rows.at(-1)?.["id"] ?? after;
  }
  return withItems(search, best);
}

/** An item that was deleted meanwhile is left out. */
async function withItems({ ask, names }: VectorSearch, best: TopHits<string>): Promise<readonly RankedItem[]> {
  const hits = best.list();
  const values = new Values();
  const ids = values.add(
    hits.map(({ item }) => item),
    "bigint[]",
  );
  const rows = await ask(`SELECT i.id, ${ITEM_COLUMNS} FROM ${names.items} i WHERE i.id = ANY (${ids})`, values.list);
  const items = new Map<string, StoredItem>(rows.map((row) => [row["id"] ?? "", toItem(row)]));
  return hits.flatMap(({ item: id, score }) => {
    const item = items.get(id);
    return item === undefined ? [] : [{ item, score }];
  });
}

const toHit = (row: TextRow): RankedItem => ({
  item: toItem(row),
  score: Math.max(-1, Math.min(1, Number(row["score"]))),
});

const textOf = (vector: Float32Array): string => `[${vector.join(",")}]`;
