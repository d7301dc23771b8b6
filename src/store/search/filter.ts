import { isPlainObject } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { described, nearestName } from "../../internal/known-options.ts";
import type { Condition, FieldPath, Scalar } from "../driver/store-driver.ts";

/** How one field is compared. All that are given must hold. */
export interface FieldFilter {
  readonly $eq?: Scalar;
  /** Also true of items without the field. */
  readonly $ne?: Scalar;
  readonly $gt?: string | number;
  readonly $gte?: string | number;
  readonly $lt?: string | number;
  readonly $lte?: string | number;
  readonly $in?: readonly Scalar[];
  /** Also true of items without the field. */
  readonly $nin?: readonly Scalar[];
  readonly $exists?: boolean;
  readonly $not?: FieldFilter;
}

/**
 * Which items are meant. A name is a field of the value, `"owner.id"` a field of a
 * field (a dot that belongs to a name is written `\\.`, a `$` at its beginning `\\$`); `$metadata` holds a
 * filter on the metadata. Types are strict: `"9"` is not `9`.
 */
export type StoreFilter = {
  readonly $and?: readonly StoreFilter[];
  readonly $or?: readonly StoreFilter[];
  readonly $not?: StoreFilter;
  readonly $metadata?: StoreFilter;
} & { readonly [field: string]: Scalar | FieldFilter | StoreFilter | readonly StoreFilter[] | undefined };

/** A larger filter is a mistake, or an attack on the evaluator. */
const MOST_PARTS = 1000;
const DEEPEST = 32;

export interface FilterLimits {
  readonly parts: number;
  readonly depth: number;
}

/** What `filterOf` makes of a filter within the limits is longer and deeper, and within these. */
export const WRITTEN_OUT: FilterLimits = { parts: 6 * MOST_PARTS, depth: 3 * DEEPEST };

/** What a filter means; `undefined` where it leaves nothing out. Refuses what it does not know, with the path. */
export function parseFilter(
  filter: unknown,
  limits: FilterLimits = { parts: MOST_PARTS, depth: DEEPEST },
): Condition | undefined {
  if (filter === undefined) return undefined;
  const reader = new Reader(limits);
  const parsed = reader.whole(filter, "value", "filter", 0);
  return parsed.op === "and" && parsed.of.length === 0 ? undefined : parsed;
}

const LOGICAL = ["$and", "$or", "$not", "$metadata"];
const OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not"];

class Reader {
  readonly #limits: FilterLimits;
  #parts = 0;

  constructor(limits: FilterLimits) {
    this.#limits = limits;
  }

  whole(filter: unknown, of: FieldPath["of"], where: string, depth: number): Condition {
    const members = this.#members(filter, where, depth, 'an object such as { type: "user" }');
    return all(members.map(([name, given]) => this.#member(name, given, of, where, depth + 1)));
  }

  #member(name: string, given: unknown, of: FieldPath["of"], where: string, depth: number): Condition {
    const inside = `${where}.${name}`;
    if (name === "$and" || name === "$or") {
      const list = this.#list(given, inside, "a list of filters");
      const parts = list.map((each, index) => this.whole(each, of, `${inside}[${index}]`, depth));
      return name === "$and" ? all(parts) : { op: "or", of: parts };
    }
    if (name === "$not") return { op: "not", of: this.whole(given, of, inside, depth) };
    if (name === "$metadata" && of === "value") return this.whole(given, "metadata", inside, depth);
    if (name.startsWith("$")) throw unknown(inside, name, LOGICAL);
    return this.#field({ of, names: pathOf(name, where) }, given, inside, depth);
  }

  #field(path: FieldPath, given: unknown, where: string, depth: number): Condition {
    if (isScalar(given)) return { op: "in", path, operands: [scalar(given, where)] };
    const members = this.#members(given, where, depth, "a text, a number, true, false, null or { $eq: … }");
    if (members.length === 0) throw invalid(`${where} is an empty object, which compares with nothing; use $exists`);
    return all(members.map(([name, operand]) => this.#operator(path, name, operand, `${where}.${name}`, depth + 1)));
  }

  #operator(path: FieldPath, name: string, given: unknown, where: string, depth: number): Condition {
    switch (name) {
      case "$eq":
        return { op: "in", path, operands: [scalar(given, where)] };
      case "$ne":
        return not({ op: "in", path, operands: [scalar(given, where)] });
      case "$in":
        return { op: "in", path, operands: this.#scalars(given, where) };
      case "$nin":
        return not({ op: "in", path, operands: this.#scalars(given, where) });
      case "$gt":
      case "$gte":
      case "$lt":
      case "$lte":
        return { op: name.slice(1) as "gt", path, operand: ordered(given, where) };
      case "$exists": {
        if (typeof given !== "boolean") throw invalid(`${where} is true or false, not ${described(given)}`);
        const exists = { op: "exists", path } as const;
        return given ? exists : not(exists);
      }
      case "$not":
        if (isScalar(given)) throw invalid(`${where} holds operators, such as { $gt: 1 }; for a value use $ne`);
        return not(this.#field(path, given, where, depth));
      default:
        throw unknown(where, name, OPERATORS);
    }
  }

  #scalars(given: unknown, where: string): readonly Scalar[] {
    return this.#list(given, where, "a list of values").map((each, index) => scalar(each, `${where}[${index}]`));
  }

  #list(given: unknown, where: string, what: string): readonly unknown[] {
    if (!Array.isArray(given)) throw invalid(`${where} is ${what}, not ${described(given)}`);
    this.#count(given.length, where);
    return given;
  }

  #members(given: unknown, where: string, depth: number, what: string): readonly (readonly [string, unknown])[] {
    if (!isPlainObject(given)) throw invalid(`${where} is ${what}, not ${described(given)}`);
    const { depth: deepest } = this.#limits;
    if (depth > deepest) throw invalid(`${where.slice(0, 80)}… is nested deeper than ${deepest} levels`);
    const members = Object.entries(given as object);
    for (const [name, value] of members) {
      // If it were ignored, a caller whose id was not set would see all items.
      if (value === undefined) throw invalid(`${where}.${name} is undefined; leave it out, or use { $exists: false }`);
    }
    this.#count(members.length, where);
    return members;
  }

  #count(more: number, where: string): void {
    this.#parts += more;
    const { parts } = this.#limits;
    if (this.#parts > parts) throw invalid(`${where.slice(0, 80)} has more than ${parts} parts`);
  }
}

const all = (of: readonly Condition[]): Condition => {
  const [only] = of;
  return only !== undefined && of.length === 1 ? only : { op: "and", of };
};

const not = (of: Condition): Condition => ({ op: "not", of });

/** `a.b` is two names, `a\\.b` is one. */
function pathOf(name: string, where: string): readonly string[] {
  const names = [...name.matchAll(/(?:^|\.)((?:\\[.$\\]|[^.])*)/gs)].map(([, one = ""]) =>
    one.replaceAll(/\\([.$\\])/g, "$1"),
  );
  if (names.length > DEEPEST) throw invalid(`${where}: a path has at most ${DEEPEST} names`);
  return names;
}

const isScalar = (given: unknown): boolean => typeof given !== "object" || given === null;

function scalar(given: unknown, where: string): Scalar {
  if (given === null || typeof given === "string" || typeof given === "boolean") return given;
  if (typeof given === "number" && Number.isFinite(given)) return given;
  throw invalid(`${where} is ${described(given)}; filters compare texts, finite numbers, true, false and null`);
}

function ordered(given: unknown, where: string): string | number {
  if (typeof given === "string" || (typeof given === "number" && Number.isFinite(given))) return given;
  throw invalid(`${where} is ${described(given)}; only texts and finite numbers have an order`);
}

function unknown(where: string, name: string, known: readonly string[]): StateError {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `known: ${known.join(", ")}` : `did you mean ${nearest}?`;
  return invalid(`${where}: there is no ${name}; ${hint}. Write \\\\$ for a field whose own name begins with $`);
}

const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", message, { path: "filter" });

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
