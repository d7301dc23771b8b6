import type { Condition, FieldPath, Scalar } from "../../store/conditions.ts";
import { safeText } from "../../store/fields.ts";
import { safeScalar } from "../../store/matching.ts";
import type { SqliteValue } from "./connect.ts";

/** A piece of SQL and the values of its question marks. */
export interface Sql {
  readonly text: string;
  readonly values: readonly SqliteValue[];
}

/** The columns of the row `i` that filters look at. */
const COLUMNS: Readonly<Record<FieldPath["of"], string>> = {
  value: "coalesce(i.value_fields, i.value)",
  metadata: "coalesce(i.metadata_fields, i.metadata, '{}')",
};

/**
 * A condition in SQL that agrees exactly with `matches`; `undefined` if a field has
 * a name that SQLite's paths cannot express, so that each row must be checked in
 * this process. No text of a user's gets into the SQL. It also holds for a row that
 * is damaged: SQLite would refuse the whole statement, and who lists items is told
 * of a damaged one.
 */
export function filterSql(condition: Condition): Sql | undefined {
  const filter = conditionSql(condition);
  if (filter === undefined) return undefined;
  const looksAt = Object.values(COLUMNS).filter((column) => filter.text.includes(column));
  if (looksAt.length === 0) return filter;
  const isReadable = looksAt.map((column) => `json_valid(${column})`).join(" AND ");
  return { text: `CASE WHEN ${isReadable} THEN ${filter.text} ELSE 1 END`, values: filter.values };
}

function conditionSql(condition: Condition): Sql | undefined {
  switch (condition.op) {
    case "and":
    case "or":
      return joined(condition.of, condition.op);
    case "not": {
      const inner = conditionSql(condition.of);
      return inner && { text: `NOT ${inner.text}`, values: inner.values };
    }
    case "in":
      return anyOf(condition.path, condition.operands);
    case "exists":
      return leaf(condition.path, (column) => ({ text: `json_type(${column}, ?) IS NOT NULL`, operands: [] }));
    default:
      return compared(condition.path, OPERATORS[condition.op], condition.operand);
  }
}

const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function joined(parts: readonly Condition[], op: "and" | "or"): Sql | undefined {
  if (parts.length === 0) return { text: op === "and" ? "1" : "0", values: [] };
  const pieces: Sql[] = [];
  for (const part of parts) {
    const piece = conditionSql(part);
    if (piece === undefined) return undefined;
    pieces.push(piece);
  }
  const text = pieces.map((piece) => piece.text).join(op === "and" ? " AND " : " OR ");
  return { text: `(${text})`, values: pieces.flatMap(({ values }) => values) };
}

function anyOf(path: FieldPath, operands: readonly Scalar[]): Sql | undefined {
  const pieces: Sql[] = [];
  for (const operand of operands) {
    const piece =
      typeof operand === "string" || typeof operand === "number" ? compared(path, "=", operand) : named(path, operand);
    if (piece === undefined) return undefined;
    pieces.push(piece);
  }
  if (pieces.length === 0) return { text: "0", values: [] };
  return { text: `(${pieces.map(({ text }) => text).join(" OR ")})`, values: pieces.flatMap(({ values }) => values) };
}

/** `true`, `false` and `null` are types in SQLite's JSON. */
const named = (path: FieldPath, operand: boolean | null): Sql | undefined =>
  leaf(path, (column) => ({ text: `ifnull(json_type(${column}, ?) = ?, 0)`, operands: [String(operand)] }));

/**
 * Numbers are compared as JavaScript has them. JSON writes 2 ** 60 with the fewest
 * digits that mean it, and SQLite reads those as another integer.
 */
function compared(path: FieldPath, operator: string, operand: string | number): Sql | undefined {
  const [types, as] = typeof operand === "string" ? ["'text'", "TEXT"] : ["'integer', 'real'", "REAL"];
  const at = jsonPath(path);
  if (at === undefined) return undefined;
  const column = COLUMNS[path.of];
  const text = `ifnull(json_type(${column}, ?) IN (${types}) AND CAST(json_extract(${column}, ?) AS ${as}) ${operator} ?, 0)`;
  return { text, values: [at, at, safeScalar(operand) as string | number] };
}

function leaf(
  path: FieldPath,
  make: (column: string) => { readonly text: string; readonly operands: readonly SqliteValue[] },
): Sql | undefined {
  const at = jsonPath(path);
  if (at === undefined) return undefined;
  const { text, operands } = make(COLUMNS[path.of]);
  return { text, values: [at, ...operands] };
}

/** `$."a"."b"`. SQLite has no escape for a quote, a backslash or a control character in a name. */
function jsonPath({ names }: FieldPath): string | undefined {
  const safe = names.map(safeText);
  if (!safe.every((name) => name !== "" && !/["\\\u0000-\u001f]/.test(name))) return undefined;
  return `$${safe.map((name) => `."${name}"`).join("")}`;
}
