import type { Condition, FieldPath, Scalar } from "../../store/conditions.ts";
import type { Bind } from "./binds.ts";
import { comparable, isPlainKey, isUnindexable } from "./metadata.ts";

/** Collects the binds of a query. */
export class QueryBinds {
  readonly all: Record<string, Bind> = {};
  #count = 0;

  /** The placeholder of a value. */
  add(bind: Bind): string {
    const name = `b_${++this.#count}`;
    this.all[name] = bind;
    return `:${name}`;
  }
}

/** Whether it has tags for values that are not JSON, or text that JSON functions may not understand. */
export const isUnindexableItem = (value: string, metadata: string | undefined): boolean =>
  [value, metadata ?? ""].some((text) => text.includes('"$"') || isUnindexable(text));

/**
 * A condition on the row `i` that every matching item meets. A few others may meet
 * it too, and `matches` decides. `undefined` if SQL cannot express it: a path is
 * part of the statement, so only plain names may appear in one.
 */
export function narrowing(condition: Condition | undefined, binds: QueryBinds): string | undefined {
  const narrowed = condition && within(condition, binds);
  return narrowed && `(i.unindexed = 1 OR ${narrowed})`;
}

function within(condition: Condition, binds: QueryBinds): string | undefined {
  switch (condition.op) {
    case "and": {
      const pieces = condition.of.map((each) => within(each, binds)).filter((each) => each !== undefined);
      return pieces.length === 0 ? undefined : `(${pieces.join(" AND ")})`;
    }
    case "or": {
      const pieces = condition.of.map((each) => within(each, binds));
      return pieces.length === 0 || pieces.includes(undefined) ? undefined : `(${pieces.join(" OR ")})`;
    }
    case "not":
      return undefined;
    case "in":
      if (condition.operands.length === 0) return "1 = 0";
      return either(condition.operands.map((operand) => member(condition.path, operand, binds)));
    default:
      return member(condition.path, undefined, binds);
  }
}

const either = (pieces: readonly (string | undefined)[]): string | undefined =>
  pieces.includes(undefined) ? undefined : `(${pieces.join(" OR ")})`;

/** That the member exists, and has this value if SQL can compare it. */
function member({ of, names }: FieldPath, operand: Scalar | undefined, binds: QueryBinds): string | undefined {
  if (!names.every(isPlainKey)) return undefined;
  const path = names.map((name) => `."${name}"`).join("");
  const bind = operand === undefined || names.length === 0 ? undefined : comparable(JSON.stringify(operand));
  const exists = (column: string): string => {
    if (bind === undefined) return `JSON_EXISTS(i.${column}, '$${path}')`;
    return `JSON_EXISTS(i.${column}, '$?(@${path} == $v)' PASSING ${binds.add(bind)} AS "v")`;
  };
  const columns = of === "value" ? ["value", "long_value"] : ["metadata", "long_metadata"];
  return `(${columns.map(exists).join(" OR ")})`;
}
