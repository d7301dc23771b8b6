import { encodeNamespace } from "../../store/driver/namespaces.ts";
import type { FieldPath } from "../../store/driver/store-driver.ts";
import { safeScalar, safeText } from "../../store/search/item-fields.ts";
import type { FieldHooks } from "../../store/sql-store/conditions.ts";
import type { StoreDialect } from "../../store/sql-store/queries.ts";
import {
  number,
  numbered,
  type Rendered,
  raw,
  type Sql,
  sql,
  text,
  texts,
  type Value,
} from "../../store/sql-store/sql.ts";
import type { TableNames } from "./layout.ts";

/** The server's clock, in milliseconds since 1970. A subquery, so that it is evaluated once and not for every row. */
export const NOW_SQL = "(SELECT floor(extract(epoch FROM now()) * 1000)::bigint)";

export const ITEM_COLUMNS: Sql = raw(
  "i.namespace, i.key, i.value, i.metadata, i.version, i.created_at, i.updated_at, i.expires_at",
);

const TYPES: Readonly<Record<Value["type"], string>> = {
  text: "text",
  number: "bigint",
  texts: "text[]",
  vector: "text",
};

/** With placeholders as this server has them: `$1::text`. */
export const rendered = (statement: Sql): Rendered<Value> =>
  numbered(statement, (place, { type }) => `$${place}::${TYPES[type]}`);

export const storeDialect = ({ items, itemVectors }: TableNames): StoreDialect => ({
  items: raw(items),
  now: raw(NOW_SQL),
  fields: FIELDS,
  comparesRows: true,
  limit: (most) => sql`LIMIT ${number(most)}`,
  named: (ids) => {
    const namespaces = texts(ids.map(({ namespace }) => encodeNamespace(namespace)));
    return sql`(i.namespace, i.key) IN (SELECT * FROM unnest(${namespaces}, ${texts(ids.map(({ key }) => key))}))`;
  },
  vectors: {
    join: raw(`JOIN ${itemVectors} v ON v.item = i.id`),
    vector: raw("array_send(v.vector)"),
    dims: raw("v.dims"),
    isThere: raw("v.dims IS NOT NULL"),
    anyLength: raw(`SELECT dims FROM ${itemVectors} LIMIT 1`),
  },
});

const FIELDS: FieldHooks = {
  areExact: true,
  exists: (path) => sql`(${fieldOf(path)} IS NOT NULL)`,
  // A value that is equal is also contained, and containment has an index.
  equals: (path, operand) => {
    const safe = safeScalar(operand);
    const document = path.names.reduceRight<unknown>((inner, name) => ({ [safeText(name)]: inner }), safe);
    const contained = sql`${columnOf(path)} @> ${json(document)}`;
    return sql`(${contained} AND coalesce(${fieldOf(path)} = ${json(safe)}, false))`;
  },
  compares: (path, operator, operand) => {
    const field = fieldOf(path);
    const [type, order] =
      typeof operand === "number"
        ? [raw("'number'"), sql`${field} ${raw(operator)} ${json(operand)}`]
        : [raw("'string'"), sql`(${field} #>> '{}') COLLATE "C" ${raw(operator)} ${text(safeText(operand))}`];
    return sql`coalesce(jsonb_typeof(${field}) = ${type} AND ${order}, false)`;
  },
};

const json = (value: unknown): Sql => sql`${text(JSON.stringify(value))}::jsonb`;

const columnOf = ({ of }: FieldPath): Sql => raw(of === "value" ? "i.value_fields" : "i.metadata_fields");

/** `->` looks up members of objects only, never elements of a list. */
const fieldOf = (path: FieldPath): Sql =>
  sql`(${path.names.reduce((inner, name) => sql`${inner} -> ${text(safeText(name))}`, columnOf(path))})`;
