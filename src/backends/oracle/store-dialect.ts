import { encodeNamespace } from "../../store/driver/namespaces.ts";
import type { FieldPath, Scalar } from "../../store/driver/store-driver.ts";
import type { FieldHooks } from "../../store/sql-store/conditions.ts";
import { bm25Scores, type ItemQuery, rankedQuery, type StoreDialect } from "../../store/sql-store/queries.ts";
import {
  joined,
  number,
  numbered,
  raw,
  type Sql,
  sql,
  text as textValue,
  type Value,
  vector as vectorValue,
} from "../../store/sql-store/sql.ts";
import { type Bind, type Binds, number as numberBind, text, vector } from "./binds.ts";
import { comparable, isPlainKey, isUnindexable } from "./metadata.ts";
import { ISO_FORMAT, NOW } from "./sql-clock.ts";
import type { StoreTables } from "./store-layout.ts";

const moment = (column: string): string => `TO_CHAR(i.${column}, ${ISO_FORMAT}) AS ${column}`;
const SHORT = [
  ...["i.namespace", "i.key", "i.version", moment("created_at"), moment("updated_at"), moment("expires_at")],
  ...["i.value", "i.metadata", "i.lengthy"],
].join(", ");

/** Values that are short need no further round trip. */
export const COLUMNS: { readonly short: Sql; readonly long: Sql } = {
  short: raw(SHORT),
  long: raw(`${SHORT}, i.long_value, i.long_metadata`),
};

/** A statement with its binds, `:b_1` and so on. */
export function rendered(statement: Sql): { readonly text: string; readonly binds: Binds } {
  const { text: written, values } = numbered(statement, (place) => `:b_${place}`);
  return { text: written, binds: Object.fromEntries(values.map((value, at) => [`b_${at + 1}`, bindOf(value)])) };
}

function bindOf({ type, value }: Value): Bind {
  if (type === "number") return numberBind(value as number | null);
  return type === "vector" ? vector(value as Float32Array) : text(value as string | null);
}

/** How many ids one query names. Shorter lists are padded, so that there are few different texts. */
const SIZES = [1, 8, 64];
export const MOST_IDS = 64;

export const storeDialect = ({ items }: StoreTables): StoreDialect => ({
  items: raw(items),
  now: raw(NOW),
  fields: FIELDS,
  comparesRows: false,
  limit,
  named: (ids) => {
    const pairs = filledUp(ids, SIZES).map(
      ({ namespace, key }) => sql`(${textValue(encodeNamespace(namespace))}, ${textValue(key)})`,
    );
    return sql`(i.namespace, i.key) IN (${joined(pairs, ", ")})`;
  },
  vectors: {
    join: raw(""),
    vector: raw("i.embedding"),
    dims: raw("VECTOR_DIMENSION_COUNT(i.embedding)"),
    isThere: raw("i.embedding IS NOT NULL"),
    anyLength: raw(
      `SELECT VECTOR_DIMENSION_COUNT(i.embedding) AS dims FROM ${items} i WHERE i.embedding IS NOT NULL FETCH FIRST 1 ROWS ONLY`,
    ),
  },
});

function limit(most: number): Sql {
  return sql`FETCH FIRST ${number(most)} ROWS ONLY`;
}

/** Whether it has tags for values that are not JSON, or text that JSON functions may not understand. */
export const isUnindexableItem = (value: string, metadata: string | undefined): boolean =>
  [value, metadata ?? ""].some((given) => given.includes('"$"') || isUnindexable(given));

/** A path is part of the statement, so only plain names may appear in one; and only some values can be compared. */
const FIELDS: FieldHooks = {
  areExact: false,
  exists: (path) => member(path),
  equals: member,
  compares: (path) => member(path),
  orUnjudged: (filter) => sql`(i.unindexed = 1 OR ${filter})`,
};

/** That the member exists, and has this value if SQL can compare it. */
function member({ of, names }: FieldPath, operand?: Scalar): Sql | undefined {
  if (!names.every(isPlainKey)) return undefined;
  const path = names.map((name) => `."${name}"`).join("");
  const bind = operand === undefined || names.length === 0 ? undefined : comparable(JSON.stringify(operand));
  const exists = (column: string): Sql =>
    bind === undefined
      ? raw(`JSON_EXISTS(i.${column}, '$${path}')`)
      : sql`JSON_EXISTS(${raw(`i.${column}, '$?(@${path} == $v)' PASSING `)}${asValue(bind)} AS "v")`;
  const columns = of === "value" ? ["value", "long_value"] : ["metadata", "long_metadata"];
  return sql`(${joined(columns.map(exists), " OR ")})`;
}

const asValue = (bind: Bind): Value =>
  "number" in bind ? number(bind.number) : textValue("text" in bind ? bind.text : null);

/** The sizes of a list of words; longer ones are cut. */
const WORD_SIZES = [1, 4, 16, 64, 256];
const MOST_WORDS = 256;

export function textQuery(tables: StoreTables, inside: Sql, words: readonly string[], most: number): ItemQuery {
  const dialect = storeDialect(tables);
  const wanted = filledUp(words.slice(0, MOST_WORDS), WORD_SIZES);
  return rankedQuery(dialect, bm25Scores(dialect, raw(tables.words), wanted, inside), most);
}

/** `approximate` lets the server use an index; without it every vector of the scope is compared. */
export function vectorQuery(
  { items }: StoreTables,
  inside: Sql,
  wanted: Float32Array,
  { most, approximate }: { readonly most: number; readonly approximate: boolean },
): ItemQuery {
  const distance = sql`VECTOR_DISTANCE(i.embedding, ${vectorValue(wanted)}, COSINE)`;
  const order = approximate
    ? sql`ORDER BY ${distance} FETCH APPROX FIRST ${number(most)} ROWS ONLY`
    : sql`ORDER BY distance, i.id ${limit(most)}`;
  return (columns) => sql`SELECT ${columns}, GREATEST(-1, 1 - r.distance) AS score FROM (
  SELECT i.id, ${distance} AS distance FROM ${raw(items)} i WHERE i.embedding IS NOT NULL AND ${inside}
  ${order}) r
JOIN ${raw(items)} i ON i.id = r.id ORDER BY r.distance, r.id`;
}

/** Rounded like the stored times, so that it is never before what was just written. */
export const STORE_NOW: Sql = raw(`SELECT TO_CHAR(CAST(${NOW} AS TIMESTAMP(3)), ${ISO_FORMAT}) AS clock FROM dual`);

/** Repeats the first element until the next size is reached, so that few different statements are sent. */
function filledUp<T>(given: readonly T[], sizes: readonly number[]): readonly T[] {
  const size = sizes.find((each) => each >= given.length) ?? given.length;
  const [first] = given;
  return first === undefined ? given : [...given, ...Array.from({ length: size - given.length }, () => first)];
}
