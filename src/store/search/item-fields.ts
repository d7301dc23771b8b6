import { type JsonObject, type JsonValue, membersOf, tagOf } from "../../state/values/tags.ts";
import { compareText } from "../driver/namespaces.ts";
import type { Condition, FieldPath, Scalar } from "../driver/store-driver.ts";

/**
 * What filters look at, made from an encoded value: a tree of plain JSON that
 * every storage reads alike. What is not JSON becomes `{}`, which is there and
 * equals nothing; `undefined` is not there. Characters that PostgreSQL's jsonb
 * refuses and SQLite cuts texts off at are written as others, in the tree and in
 * what it is compared with, so that different texts stay different.
 */
export function projectFields(encoded: JsonValue): JsonValue {
  if (typeof encoded === "string") return safeText(encoded);
  if (typeof encoded !== "object" || encoded === null) return encoded;
  if (Array.isArray(encoded)) return [];
  const members = membersOf(encoded);
  // JSON has a zero without a sign.
  if (members === undefined) return tagOf(encoded) === "number" && (encoded as JsonObject)["v"] === "-0" ? 0 : {};
  const projected = Object.entries(members)
    .filter(([, value]) => !isUndefined(value))
    .map(([name, value]) => [safeText(name), projectFields(value)] as const);
  return Object.fromEntries(projected);
}

const isUndefined = (value: JsonValue): boolean => tagOf(value) === "undefined";

/**
 * U+0000 and halves of surrogate pairs, written with characters that stand in
 * the same place of the order: behind U+0001, and behind U+E000.
 */
const UNSAFE = /[\u0000\u0001\ue000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export const safeText = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => {
    if (character === "\u0000") return "\u00010";
    if (character === "\u0001" || character === "\ue000") return `${character}1`;
    return `\ue0000${character.charCodeAt(0).toString(16)}`;
  });

/** The fields of one item, as `projectFields` made them. */
export interface ItemFields {
  readonly value: JsonValue;
  readonly metadata: JsonValue;
}

/** Whether a condition holds for an item: what every driver's own way of filtering must agree with. */
export const matches = (condition: Condition | undefined, fields: ItemFields): boolean =>
  condition === undefined || predicate(condition, fieldReader)(fields);

/** How the fields at one place are read out of rows of any kind. */
export type FieldReader<Row> = (path: FieldPath) => (row: Row) => JsonValue | undefined;

/** A condition made ready for many rows: what depends on the condition alone is done once. */
export function predicate<Row>(condition: Condition, reader: FieldReader<Row>): (row: Row) => boolean {
  switch (condition.op) {
    case "and": {
      const parts = condition.of.map((each) => predicate(each, reader));
      return (row) => parts.every((holds) => holds(row));
    }
    case "or": {
      const parts = condition.of.map((each) => predicate(each, reader));
      return (row) => parts.some((holds) => holds(row));
    }
    case "not": {
      const inner = predicate(condition.of, reader);
      return (row) => !inner(row);
    }
    case "exists": {
      const field = reader(condition.path);
      return (row) => field(row) !== undefined;
    }
    case "in":
      return oneOf(condition.operands.map(safeScalar), reader(condition.path));
    default: {
      const [field, holds] = [reader(condition.path), HOLDS[condition.op]];
      const operand = safeScalar(condition.operand) as string | number;
      return (row) => {
        const order = orderOf(field(row), operand);
        return order !== undefined && holds(order);
      };
    }
  }
}

function oneOf<Row>(operands: readonly Scalar[], field: (row: Row) => JsonValue | undefined): (row: Row) => boolean {
  const [only] = operands;
  if (operands.length === 1) return (row) => field(row) === only;
  const all = new Set<JsonValue | undefined>(operands);
  return (row) => all.has(field(row));
}

const HOLDS: Readonly<Record<"gt" | "gte" | "lt" | "lte", (order: number) => boolean>> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

function orderOf(field: JsonValue | undefined, operand: string | number): number | undefined {
  if (typeof field === "number" && typeof operand === "number") return field - operand;
  return typeof field === "string" && typeof operand === "string" ? compareText(field, operand) : undefined;
}

export const fieldReader: FieldReader<ItemFields> = ({ of, names }) => {
  const safe = names.map(safeText);
  return (fields) => {
    let field: JsonValue | undefined = fields[of];
    for (const name of safe) {
      if (typeof field !== "object" || field === null || Array.isArray(field)) return undefined;
      field = Object.hasOwn(field, name) ? (field as { readonly [key: string]: JsonValue })[name] : undefined;
    }
    return field;
  };
};

/** An operand as it stands in projected fields. */
export const safeScalar = (operand: Scalar): Scalar => (typeof operand === "string" ? safeText(operand) : operand);
