import type { Condition, FieldPath, Scalar } from "../../store/conditions.ts";
import { safeText } from "../../store/fields.ts";
import { safeScalar } from "../../store/matching.ts";

/** Collects the parameters of a statement: `$1`, `$2` … */
export class Values {
  readonly list: unknown[] = [];

  /** The placeholder of a value, with its type. */
  add(value: unknown, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }
}

/** A condition on the row `i` that agrees exactly with `matches`. No text of a user's gets into the SQL. */
export function conditionSql(condition: Condition, values: Values): string {
  switch (condition.op) {
    case "and":
    case "or": {
      if (condition.of.length === 0) return condition.op === "and" ? "true" : "false";
      return `(${condition.of.map((each) => conditionSql(each, values)).join(condition.op === "and" ? " AND " : " OR ")})`;
    }
    case "not":
      return `NOT ${conditionSql(condition.of, values)}`;
    case "exists":
      return `(${fieldSql(condition.path, values)} IS NOT NULL)`;
    case "in": {
      if (condition.operands.length === 0) return "false";
      return `(${condition.operands.map((operand) => equals(condition.path, operand, values)).join(" OR ")})`;
    }
    default:
      return compared(condition.path, OPERATORS[condition.op], condition.operand, values);
  }
}

const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** A value that is equal is also contained, and containment has an index. */
function equals(path: FieldPath, operand: Scalar, values: Values): string {
  const safe = safeScalar(operand);
  const document = path.names.reduceRight<unknown>((inner, name) => ({ [safeText(name)]: inner }), safe);
  const contained = `${columnOf(path)} @> ${values.add(JSON.stringify(document), "jsonb")}`;
  const equal = `${fieldSql(path, values)} = ${values.add(JSON.stringify(safe), "jsonb")}`;
  return `(${contained} AND coalesce(${equal}, false))`;
}

function compared(path: FieldPath, operator: string, operand: string | number, values: Values): string {
  const field = fieldSql(path, values);
  if (typeof operand === "number") {
    const order = `${field} ${operator} ${values.add(JSON.stringify(operand), "jsonb")}`;
    return `coalesce(jsonb_typeof(${field}) = 'number' AND ${order}, false)`;
  }
  const order = `(${field} #>> '{}') COLLATE "C" ${operator} ${values.add(safeText(operand), "text")}`;
  return `coalesce(jsonb_typeof(${field}) = 'string' AND ${order}, false)`;
}

const columnOf = ({ of }: FieldPath): string => (of === "value" ? "i.value_fields" : "i.metadata_fields");

/** `->` looks up members of objects only, never elements of a list. */
const fieldSql = (path: FieldPath, values: Values): string =>
  `(${columnOf(path)}${path.names.map((name) => ` -> ${values.add(safeText(name), "text")}`).join("")})`;
