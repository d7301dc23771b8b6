import type { Condition, FieldPath, Scalar } from "./conditions.ts";
import type { StoreFilter } from "./filter.ts";

/** The filter that means a condition: what `parseFilter` turns back into it. It is how conditions travel. */
export function filterOf(condition: Condition): StoreFilter {
  switch (condition.op) {
    case "and":
      return { $and: condition.of.map(filterOf) };
    case "or":
      return { $or: condition.of.map(filterOf) };
    case "not":
      return { $not: filterOf(condition.of) };
    case "exists":
      return field(condition.path, { $exists: true });
    case "in": {
      const [only] = condition.operands;
      const isOne = condition.operands.length === 1 && only !== undefined;
      return field(condition.path, isOne ? only : { $in: condition.operands });
    }
    default:
      return field(condition.path, { [`$${condition.op}`]: condition.operand });
  }
}

/** Not a literal: `__proto__` may be the name of a field. */
function field({ of, names }: FieldPath, compared: Scalar | object): StoreFilter {
  const name = names.map((one) => one.replaceAll(/[\\.$]/g, "\\$&")).join(".");
  const filter = Object.fromEntries([[name, compared]]) as StoreFilter;
  return of === "metadata" ? { $metadata: filter } : filter;
}
