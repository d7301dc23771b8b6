import { StateError } from "../../errors.ts";
import type { Scope } from "../../store/driver/store-driver.ts";
import { type ItemQuery, type StoreDialect, within } from "../../store/sql-store/queries.ts";
import { number, raw, type Sql, sql, text, type Value } from "../../store/sql-store/sql.ts";
import type { TableNames } from "./layout.ts";

/** What the server offers for vectors. */
export interface VectorSupport {
  /** The quoted schema of the extension. */
  readonly schema: string;
  /** From 0.8 on, an index scan can continue when a filter left too few results. */
  readonly iterates: boolean;
  /** The dimensions that have an index. */
  readonly indexed: ReadonlySet<number>;
}

/** Whether the index may be asked; a scan of it examines at most 1000 candidates. */
export const canUseIndex = ({ iterates, indexed }: VectorSupport, dims: number, limit: number): boolean =>
  iterates && indexed.has(dims) && limit <= 250;

export const indexName = ({ prefix }: TableNames, dims: number): string => `${prefix}items_hnsw_${dims}`;

/** The longest vectors that pgvector can index. */
export const MAX_INDEXED_DIMENSION = 2000;
export const createIndexSql = (names: TableNames, schema: string, dims: number): string =>
  `CREATE INDEX IF NOT EXISTS "${indexName(names, dims)}" ON ${names.itemVectors}
     USING hnsw ((vector::${schema}.vector(${dims})) ${schema}.vector_cosine_ops) WHERE dims = ${dims}`;

/** The vectors of one length in a scope, with their items. */
const near = (dialect: StoreDialect, scope: Scope, dims: number): Sql =>
  sql`${dialect.items} i ${dialect.vectors.join} WHERE v.dims = ${number(dims)} AND ${within(dialect, scope).sql}`;

/** Every one is compared. The distances are computed before sorting, so that the planner cannot use an index. */
export const exactQuery =
  (dialect: StoreDialect, { schema }: VectorSupport, scope: Scope, vector: Float32Array, limit: number): ItemQuery =>
  (columns) =>
    sql`WITH near AS MATERIALIZED (
      SELECT i.id, v.vector::${raw(schema)}.vector OPERATOR(${raw(schema)}.<=>) ${textOf(vector)}::${raw(schema)}.vector AS distance
      FROM ${near(dialect, scope, vector.length)}),
    best AS MATERIALIZED (SELECT * FROM near ORDER BY distance, id ${dialect.limit(limit)})
    SELECT ${columns}, ${SCORE} AS score FROM best b JOIN ${dialect.items} i ON i.id = b.id ORDER BY b.distance, b.id`;

/** Rounding must not take a cosine out of its range. */
const SCORE = raw("greatest(-1, least(1, 1 - b.distance))");

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
 * because the rest of the statement needs their row. The length stands in the text:
 * an index of one length serves only a query that names it.
 */
export function indexQuery(
  dialect: StoreDialect,
  support: VectorSupport,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): ItemQuery {
  const [schema, dims] = [raw(support.schema), raw(String(vector.length))];
  const effort = text(String(effortFor(scope, limit)));
  const distance = sql`(v.vector::${schema}.vector(${dims})) OPERATOR(${schema}.<=>) ${textOf(vector)}::${schema}.vector(${dims})`;
  return (columns) => sql`WITH settings AS MATERIALIZED (
      SELECT set_config('hnsw.ef_search', ${effort}, true) AS a, set_config('hnsw.iterative_scan', 'relaxed_order', true) AS b),
    best AS MATERIALIZED (
      SELECT f.id, f.distance FROM settings s CROSS JOIN LATERAL (
        SELECT i.id, ${distance} AS distance FROM ${dialect.items} i ${dialect.vectors.join}
        WHERE v.dims = ${dims} AND s.a IS NOT NULL AND ${within(dialect, scope).sql}
        ORDER BY ${distance} ${dialect.limit(limit)}) AS f)
    SELECT ${columns}, ${SCORE} AS score FROM best b JOIN ${dialect.items} i ON i.id = b.id ORDER BY b.distance, b.id`;
}

const textOf = (vector: Float32Array): Value => text(`[${vector.join(",")}]`);

/** Decodes a `real[]` as `array_send` writes it: a header of 20 bytes, then a length and a number per element. */
export function vectorOfSent(hex: unknown): Float32Array {
  if (typeof hex !== "string" || !hex.startsWith("\\x")) {
    throw new StateError("INCOMPATIBLE", "the server sends bytes in a form of its own: leave bytea_output at hex");
  }
  const bytes = Buffer.from(hex.slice(2), "hex");
  const vector = new Float32Array((bytes.byteLength - 20) / 8);
  for (let index = 0; index < vector.length; index++) vector[index] = bytes.readFloatBE(24 + index * 8);
  return vector;
}
