import type { Message } from "../message.ts";
import { isPlainObject } from "../values/doorway.ts";
import { type Attributed, ERASED, isAttributed } from "./subjects.ts";

/**
 * What becomes of a field when a person is erased. The rows are in `personal-fields.ts`. A field is personal unless its
 * row says why it never is, and so is a field without a row.
 */
export type Rule = Personal | Kept | Fields | Each | Members | Variants;

/** It may hold a person's words. */
export interface Personal {
  /** What takes its place; `LEFT_OUT` if the field goes with it. */
  readonly without: (value: unknown, judge: Judge) => unknown;
  /** What a redactor is given of it, where that is not every text: it may only change what readers take as text. */
  readonly redacted?: Rule;
}

/** It never holds a person's words, for this reason. A value that is not of this kind is personal all the same. */
export interface Kept {
  readonly kept: string;
  readonly is: (value: unknown) => boolean;
}

/** The same for a type: a row has to name all of a closed set of values. */
export interface KeptOf<Value> extends Kept {
  /** Never there. */
  readonly of?: (value: Value) => void;
}

export interface Fields {
  readonly fields: Readonly<Record<string, Rule>>;
}

/** For each item of a list. */
export interface Each {
  readonly each: Rule;
}

/** For an object whose names users choose: the members that the package itself writes, and all others. */
export interface Members {
  readonly own: Readonly<Record<string, Rule>>;
  readonly others: Rule;
}

/** For an object whose field `by` tells which of these it is. */
export interface Variants {
  readonly by: string;
  readonly variants: Readonly<Record<string, Fields>>;
}

/** The rows that a type needs: one for each field, and for what is in it unless it goes as a whole. */
export type RulesOf<T> = { readonly [Name in keyof T]-?: RuleOf<Exclude<T[Name], undefined>> };
export type RuleOf<Value> =
  | Personal
  | ([Value] extends [string | number | boolean | null | Date]
      ? KeptOf<Value>
      : unknown extends Value
        ? never
        : [Value] extends [Message]
          ? { readonly by: "role"; readonly variants: { readonly [Role in Message["role"]]: Fields } }
          : [Value] extends [readonly (infer Item)[]]
            ? { readonly each: RuleOf<Item> }
            : [Value] extends [object]
              ? string extends keyof Value
                ? Members
                : { readonly fields: RulesOf<Value> }
              : never);

/** What stays of a value that says itself whom it is about. */
export type Judge = (value: Attributed) => unknown;

export const LEFT_OUT: unique symbol = Symbol("left out");

/** Emptied and still of the same kind: names, lengths, yes and no stay. */
export const emptied: Personal = { without: (value, judge) => emptiedValue(value, judge) };
export const text: Personal = {
  without: (value) => (value === "" || (Array.isArray(value) && value.length === 0) ? "" : ERASED),
};
/** A text in place of anything that can say something. */
export const content: Personal = {
  without: (value, judge) => {
    if (isAttributed(value)) return judge(value);
    return typeof value === "boolean" || value === null ? value : ERASED;
  },
};
export const leftOut: Personal = { without: () => LEFT_OUT };
export const becomes = (value: unknown): Personal => ({ without: () => value });

const kept =
  <Value>(is: (value: unknown) => value is Value) =>
  (why: string): KeptOf<Value> => ({ kept: why, is });
export const name: (why: string) => KeptOf<string> = kept((value) => typeof value === "string");
export const count: (why: string) => KeptOf<number> = kept((value) => typeof value === "number");
export const date: (why: string) => KeptOf<Date> = kept((value) => value instanceof Date);
export const flag: (why: string) => KeptOf<boolean> = kept((value) => typeof value === "boolean");
export const yes: (why: string) => KeptOf<true> = kept((value) => value === true);
export const oneOf = <Value extends string>(values: Readonly<Record<Value, true>>): KeptOf<Value> => ({
  kept: "one of a closed set of words",
  is: (value) => typeof value === "string" && Object.hasOwn(values, value),
});

/** What a rule leaves of a value: the very same where it leaves all of it. */
export function without(rule: Rule, value: unknown, judge: Judge): unknown {
  if ("without" in rule) {
    const left = rule.without(value, judge);
    return isSame(left, value) ? value : left;
  }
  if ("kept" in rule) return rule.is(value) ? value : emptiedValue(value, judge);
  if ("each" in rule && Array.isArray(value)) return mapList(value, (item) => without(rule.each, item, judge));
  if (!isPlainObject(value) || isAttributed(value) || "each" in rule) return emptiedValue(value, judge);
  const rows = rowsFor(rule, value);
  return mapRecord(value, (each, field) => without(rows(field), each, judge));
}

/** The rule for each member of an object. */
export function rowsFor(
  rule: Fields | Members | Variants,
  value: Readonly<Record<string, unknown>>,
): (field: string) => Rule {
  if ("own" in rule) return (field) => own(rule.own, field) ?? rule.others;
  const fields = "fields" in rule ? rule.fields : own(rule.variants, String(value[rule.by]))?.fields;
  return (field) => own(fields ?? {}, field) ?? emptied;
}

const own = <T>(rows: Readonly<Record<string, T>>, field: string): T | undefined =>
  Object.hasOwn(rows, field) ? rows[field] : undefined;

function emptiedValue(value: unknown, judge: Judge): unknown {
  const each = (inner: unknown): unknown => emptiedValue(inner, judge);
  if (isAttributed(value)) return judge(value);
  switch (typeof value) {
    case "string":
      return value === "" ? value : ERASED;
    case "number":
      return 0;
    case "bigint":
      return 0n;
    case "boolean":
    case "undefined":
      return value;
    default:
  }
  if (value === null) return value;
  if (Array.isArray(value)) return mapList(value, each);
  if (isPlainObject(value)) return mapRecord(value, each);
  if (value instanceof Date) return value.getTime() === 0 ? value : new Date(0);
  if (value instanceof Uint8Array) return value.byteLength === 0 ? value : new Uint8Array();
  if (value instanceof Map) {
    const pairs = [...value];
    const left = mapList(pairs, (pair) => mapList(pair, each));
    return left === pairs ? value : new Map(left as readonly [unknown, unknown][]);
  }
  if (value instanceof Set) {
    const items = [...value];
    const left = mapList(items, each);
    return left === items ? value : new Set(left);
  }
  return ERASED;
}

/** Compares what is left with what was there: the former is small. */
const isSame = (left: unknown, value: unknown): boolean =>
  Object.is(left, value) ||
  (isPlainObject(left) &&
    isPlainObject(value) &&
    Object.keys(left).length === Object.keys(value).length &&
    Object.keys(left).every((field) => Object.hasOwn(value, field) && isSame(left[field], value[field])));

/** Returns the same list if every item stays the same. */
export function mapList<T>(list: readonly T[], change: (item: T, index: number) => unknown): readonly T[] {
  let next: T[] | undefined;
  for (const [index, item] of list.entries()) {
    const changed = change(item, index) as T;
    if (!Object.is(changed, item)) next ??= list.slice(0, index);
    next?.push(changed);
  }
  return next ?? list;
}

/** The same for the members of an object; one that becomes `LEFT_OUT` goes. */
export function mapRecord<R extends Readonly<Record<string, unknown>>>(
  record: R,
  change: (value: R[string], field: string) => unknown,
): R {
  let next: Map<string, unknown> | undefined;
  for (const field of Object.keys(record)) {
    const value = record[field] as R[string];
    const changed = change(value, field);
    if (Object.is(changed, value)) continue;
    // Setting a key again leaves it where it is.
    next ??= new Map(Object.entries(record));
    if (changed === LEFT_OUT) next.delete(field);
    else next.set(field, changed);
  }
  return next === undefined ? record : (Object.fromEntries(next) as R);
}
