import type { FieldPath } from "../../store/driver/store-driver.ts";
import { safeScalar, safeText } from "../../store/search/item-fields.ts";
import type { FieldHooks } from "../../store/sql-store/conditions.ts";
import type { ItemQuery, StoreDialect } from "../../store/sql-store/queries.ts";
import { joined, number, positional, raw, type Sql, sql, text } from "../../store/sql-store/sql.ts";
import type { SqlRow } from "../../store/sql-store/sql-store-driver.ts";
import type { SqliteValue } from "./connect.ts";
import type { TableNames } from "./layout.ts";
import { ITEM_COLUMNS } from "./store-rows.ts";
import type { StoreStatements } from "./store-statements.ts";

export const storeDialect = ({ items, itemVectors }: TableNames, now: number): StoreDialect => ({
  items: raw(items),
  now: sql`${number(now)}`,
  fields: FIELDS,
  comparesRows: true,
  limit,
  vectors: {
    join: raw(`JOIN ${itemVectors} v ON v.item = i.id`),
    vector: raw("v.vector"),
    dims: raw("v.dims"),
    isThere: raw("v.dims IS NOT NULL"),
    anyLength: raw(`SELECT dims FROM ${itemVectors} LIMIT 1`),
  },
});

/** The rows of a statement that is built for one call. */
export const rowsOf = ({ prepare }: Pick<StoreStatements, "prepare">, statement: Sql): readonly SqlRow[] => {
  const { text: written, values } = positional(statement);
  return prepare(written).all(...(values as SqliteValue[])) as SqlRow[];
};

const limit = (most: number): Sql => sql`LIMIT ${number(most)}`;

export const COLUMNS: Sql = raw(ITEM_COLUMNS);

/** Words are letters, digits and "_": they cannot end the quotes. */
export const textQuery =
  ({ items, itemWords }: TableNames, inside: Sql, words: readonly string[], most: number): ItemQuery =>
  (columns) =>
    sql`SELECT ${columns}, -bm25(${raw(itemWords)}, 1, 1, 0.4, 0.15) AS score
    FROM ${raw(itemWords)} JOIN ${raw(items)} i ON i.id = ${raw(itemWords)}.rowid
    WHERE ${raw(itemWords)} MATCH ${text(words.map((word) => `"${word}"`).join(" OR "))} AND ${inside}
    ORDER BY score DESC, i.id ${limit(most)}`;

/** The columns of the row `i` that filters look at. */
const FIELD_COLUMNS: Readonly<Record<FieldPath["of"], Sql>> = {
  value: raw("coalesce(i.value_fields, i.value)"),
  metadata: raw("coalesce(i.metadata_fields, i.metadata, '{}')"),
};

const FIELDS: FieldHooks = {
  areExact: true,
  exists: (path) => atField(path, (column, at) => sql`json_type(${column}, ${at}) IS NOT NULL`),
  // `true`, `false` and `null` are types in SQLite's JSON.
  equals: (path, operand) =>
    typeof operand === "string" || typeof operand === "number"
      ? compared(path, "=", operand)
      : atField(path, (column, at) => sql`ifnull(json_type(${column}, ${at}) = ${text(String(operand))}, 0)`),
  compares: compared,
  // SQLite refuses the whole statement for one damaged row, and a caller that lists items is told of a damaged one.
  orUnjudged: (filter, looksAt) => {
    const readable = [...looksAt].map((of) => sql`json_valid(${FIELD_COLUMNS[of]})`);
    return sql`CASE WHEN ${joined(readable, " AND ")} THEN ${filter} ELSE 1 END`;
  },
};

/**
 * Numbers are compared as JavaScript has them. JSON writes 2 ** 60 with the fewest
 * digits that mean it, and SQLite reads those as another integer.
 */
function compared(path: FieldPath, operator: string, operand: string | number): Sql | undefined {
  const [types, as, value] =
    typeof operand === "string"
      ? [raw("'text'"), raw("TEXT"), text(safeScalar(operand) as string)]
      : [raw("'integer', 'real'"), raw("REAL"), number(operand)];
  return atField(path, (column, at) => {
    const order = sql`CAST(json_extract(${column}, ${at}) AS ${as}) ${raw(operator)} ${value}`;
    return sql`ifnull(json_type(${column}, ${at}) IN (${types}) AND ${order}, 0)`;
  });
}

/** `$."a"."b"`. SQLite has no escape for a quote, a backslash or a control character in a name. */
function atField({ of, names }: FieldPath, said: (column: Sql, at: Sql) => Sql): Sql | undefined {
  const safe = names.map(safeText);
  if (!safe.every((name) => name !== "" && !/["\\\u0000-\u001f]/.test(name))) return undefined;
  return said(FIELD_COLUMNS[of], sql`${text(`$${safe.map((name) => `."${name}"`).join("")}`)}`);
}
