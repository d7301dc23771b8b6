import type { Condition, FieldPath, Scalar } from "../driver/store-driver.ts";
import { joined, raw, type Sql, sql } from "./sql.ts";

export type Operator = ">" | ">=" | "<" | "<=";

/** How a database says of the row `i` what a condition asks of one field; `undefined` where it cannot. */
export interface FieldHooks {
  /** Whether a row meets what the hooks say exactly where `matches` holds. Otherwise a few others may meet it too. */
  readonly areExact: boolean;
  exists(path: FieldPath): Sql | undefined;
  equals(path: FieldPath, operand: Scalar): Sql | undefined;
  compares(path: FieldPath, operator: Operator, operand: string | number): Sql | undefined;
  /** Makes a filter hold too for the rows that SQL cannot judge. @default there are none */
  orUnjudged?(filter: Sql, looksAt: ReadonlySet<FieldPath["of"]>): Sql;
}

/** A condition as far as SQL can express it: every row that it holds for meets `sql`, and `rest` decides about those that do. */
export interface Filter {
  readonly sql: Sql | undefined;
  readonly rest: Condition | undefined;
}

export function filterOf(condition: Condition | undefined, hooks: FieldHooks): Filter {
  if (condition === undefined) return { sql: undefined, rest: undefined };
  const looksAt = new Set<FieldPath["of"]>();
  const { sql: narrowed, isExact } = visited(condition, hooks, looksAt);
  const whole = narrowed && looksAt.size > 0 && hooks.orUnjudged?.(narrowed, looksAt);
  return { sql: whole || narrowed, rest: isExact ? undefined : condition };
}

interface Visited {
  readonly sql: Sql | undefined;
  readonly isExact: boolean;
}

const UNSAID: Visited = { sql: undefined, isExact: false };
const ALWAYS: Visited = { sql: raw("1 = 1"), isExact: true };
const NEVER: Visited = { sql: raw("1 = 0"), isExact: true };

const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function visited(condition: Condition, hooks: FieldHooks, looksAt: Set<FieldPath["of"]>): Visited {
  const field = (path: FieldPath, said: Sql | undefined): Visited => {
    looksAt.add(path.of);
    return said === undefined ? UNSAID : { sql: said, isExact: hooks.areExact };
  };
  switch (condition.op) {
    case "and":
      return allOf(condition.of.map((each) => visited(each, hooks, looksAt)));
    case "or":
      return anyOf(condition.of.map((each) => visited(each, hooks, looksAt)));
    case "not": {
      const inner = visited(condition.of, hooks, looksAt);
      return inner.isExact && inner.sql !== undefined ? { sql: sql`NOT (${inner.sql})`, isExact: true } : UNSAID;
    }
    case "exists":
      return field(condition.path, hooks.exists(condition.path));
    case "in":
      return anyOf(condition.operands.map((operand) => field(condition.path, hooks.equals(condition.path, operand))));
    default:
      return field(condition.path, hooks.compares(condition.path, OPERATORS[condition.op], condition.operand));
  }
}

/** What cannot be said of one of them is left out: the others narrow it down all the same. */
function allOf(parts: readonly Visited[]): Visited {
  if (parts.length === 0) return ALWAYS;
  const said = parts.map((part) => part.sql).filter((each) => each !== undefined);
  if (said.length === 0) return UNSAID;
  return { sql: sql`(${joined(said, " AND ")})`, isExact: parts.every(({ isExact }) => isExact) };
}

function anyOf(parts: readonly Visited[]): Visited {
  if (parts.length === 0) return NEVER;
  const said = parts.map((part) => part.sql).filter((each) => each !== undefined);
  if (said.length < parts.length) return UNSAID;
  return { sql: sql`(${joined(said, " OR ")})`, isExact: parts.every(({ isExact }) => isExact) };
}
