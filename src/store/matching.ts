import type { JsonValue } from "../state/codec.ts";
import type { Condition, FieldPath, Scalar } from "./conditions.ts";
import { safeText } from "./fields.ts";
import { compareText } from "./namespaces.ts";

/** The fields of one item, as `projectFields` made them. */
export interface ItemFields {
  readonly value: JsonValue;
  readonly metadata: JsonValue;
}

/** Whether a condition holds for an item: what every driver's own way of filtering must agree with. */
export function matches(condition: Condition | undefined, fields: ItemFields): boolean {
  if (condition === undefined) return true;
  switch (condition.op) {
    case "and":
      return condition.of.every((each) => matches(each, fields));
    case "or":
      return condition.of.some((each) => matches(each, fields));
    case "not":
      return !matches(condition.of, fields);
    case "exists":
      return fieldAt(fields, condition.path) !== undefined;
    case "in": {
      const field = fieldAt(fields, condition.path);
      return condition.operands.some((operand) => safeScalar(operand) === field);
    }
    default: {
      const order = orderOf(fieldAt(fields, condition.path), condition.operand);
      return order !== undefined && HOLDS[condition.op](order);
    }
  }
}

const HOLDS: Readonly<Record<"gt" | "gte" | "lt" | "lte", (order: number) => boolean>> = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

function orderOf(field: JsonValue | undefined, operand: string | number): number | undefined {
  if (typeof field === "number" && typeof operand === "number") return field - operand;
  return typeof field === "string" && typeof operand === "string" ? compareText(field, safeText(operand)) : undefined;
}

function fieldAt(fields: ItemFields, { of, names }: FieldPath): JsonValue | undefined {
  let field: JsonValue | undefined = fields[of];
  for (const name of names) {
    if (typeof field !== "object" || field === null || Array.isArray(field)) return undefined;
    const safe = safeText(name);
    field = Object.hasOwn(field, safe) ? (field as { readonly [key: string]: JsonValue })[safe] : undefined;
  }
  return field;
}

/** An operand as it stands in projected fields. */
export const safeScalar = (operand: Scalar): Scalar => (typeof operand === "string" ? safeText(operand) : operand);
