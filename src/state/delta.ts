import { defineOwn, own } from "./immutable.ts";
import type { StateFields } from "./state-fields.ts";

/**
 * What changed between two states, found by identity: because state is immutable,
 * the same object is the same value. Nothing is compared.
 */
export interface StateDelta {
  /** Fields with a new value. */
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
  /** Items appended to lists that kept all they had. */
  readonly append?: Readonly<Record<string, readonly unknown[]>>;
  /** Lists that kept their first `keep` items and continue with `items`. */
  readonly lists?: Readonly<Record<string, { readonly keep: number; readonly items: readonly unknown[] }>>;
  /** Objects of which some keys changed. */
  readonly records?: Readonly<Record<string, RecordDelta>>;
}

interface RecordDelta {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The delta, or `undefined` if more was rewritten than kept (a compaction, an
 * edited history): then a new base is smaller and simpler.
 */
export function diffFields(before: StateFields, after: StateFields): StateDelta | undefined {
  const { delta, isRewrite } = compareFields(before, after);
  return isRewrite ? undefined : delta;
}

/** The delta in any case, for a base that would be too large to store. */
export const deltaBetween = (before: StateFields, after: StateFields): StateDelta => compareFields(before, after).delta;

function compareFields(before: StateFields, after: StateFields): { delta: StateDelta; isRewrite: boolean } {
  const old = before as unknown as Fields;
  const now = after as unknown as Fields;
  const set: Record<string, unknown> = {};
  const append: Record<string, readonly unknown[]> = {};
  const lists: Record<string, { keep: number; items: readonly unknown[] }> = {};
  const records: Record<string, RecordDelta> = {};
  let [kept, rewritten] = [0, 0];
  for (const name of Object.keys(now)) {
    const [a, b] = [old[name], now[name]];
    if (Object.is(a, b) && Object.hasOwn(old, name)) {
      if (Array.isArray(a)) kept += a.length;
      continue;
    }
    if (Array.isArray(a) && Array.isArray(b)) {
      const keep = sharedPrefix(a, b);
      if (keep === a.length && keep === b.length) continue;
      const items = b.slice(keep);
      kept += keep;
      if (keep < a.length) rewritten += items.length;
      if (keep === a.length) defineOwn(append, name, items);
      else defineOwn(lists, name, { keep, items });
    } else if (isRecord(a) && isRecord(b)) {
      const delta = diffRecord(a, b);
      if (delta === "replace") defineOwn(set, name, b);
      else if (delta !== undefined) defineOwn(records, name, delta);
    } else defineOwn(set, name, b);
  }
  const unset = Object.keys(old).filter((name) => !Object.hasOwn(now, name));
  const delta = {
    ...(hasKeys(set) && { set }),
    ...(unset.length > 0 && { unset }),
    ...(hasKeys(append) && { append }),
    ...(hasKeys(lists) && { lists }),
    ...(hasKeys(records) && { records }),
  };
  return { delta, isRewrite: rewritten > kept };
}

/**
 * The state that `deltas` lead to, one after another. It works on private copies
 * and freezes them once, so a long chain costs no more than its items.
 */
export function applyDeltas(before: StateFields, deltas: readonly StateDelta[]): StateFields {
  const fields: Record<string, unknown> = { ...before };
  const drafts = new Set<string>();
  const draft = (name: string): void => {
    if (drafts.has(name)) return;
    const value = fields[name];
    defineOwn(fields, name, Array.isArray(value) ? [...value] : { ...(value as object) });
    drafts.add(name);
  };
  for (const delta of deltas) {
    for (const name of delta.unset ?? []) {
      delete fields[name];
      drafts.delete(name);
    }
    for (const [name, value] of Object.entries(delta.set ?? {})) {
      defineOwn(fields, name, value);
      drafts.delete(name);
    }
    for (const [name, items] of Object.entries(delta.append ?? {})) {
      draft(name);
      for (const item of items) (fields[name] as unknown[]).push(item);
    }
    for (const [name, { keep, items }] of Object.entries(delta.lists ?? {})) {
      draft(name);
      const list = fields[name] as unknown[];
      list.length = keep;
      for (const item of items) list.push(item);
    }
    for (const [name, change] of Object.entries(delta.records ?? {})) {
      draft(name);
      changeRecord(fields[name] as Record<string, unknown>, change);
    }
  }
  for (const name of drafts) own(fields[name] as object);
  return own(fields) as unknown as StateFields;
}

/** The items that a delta adds to one list: what is new to index, to show, to count. */
export function addedItems(delta: StateDelta, list: string): readonly unknown[] {
  return delta.append?.[list] ?? delta.lists?.[list]?.items ?? [];
}

/** `undefined` if nothing changed, `"replace"` if only the whole object keeps the order of its keys. */
function diffRecord(a: Fields, b: Fields): RecordDelta | "replace" | undefined {
  const set: Record<string, unknown> = {};
  for (const key of Object.keys(b))
    if (!Object.hasOwn(a, key) || !Object.is(a[key], b[key])) defineOwn(set, key, b[key]);
  const unset = Object.keys(a).filter((key) => !Object.hasOwn(b, key));
  const kept = Object.keys(a).filter((key) => Object.hasOwn(b, key));
  const added = Object.keys(b).filter((key) => !Object.hasOwn(a, key));
  const order = Object.keys(b);
  if ([...kept, ...added].some((key, index) => key !== order[index])) return "replace";
  if (!hasKeys(set) && unset.length === 0) return undefined;
  return { ...(hasKeys(set) && { set }), ...(unset.length > 0 && { unset }) };
}

function changeRecord(record: Record<string, unknown>, { set, unset }: RecordDelta): void {
  for (const key of unset ?? []) delete record[key];
  for (const key of Object.keys(set ?? {})) defineOwn(record, key, set?.[key]);
}

function sharedPrefix(a: readonly unknown[], b: readonly unknown[]): number {
  const end = Math.min(a.length, b.length);
  let index = 0;
  while (index < end && Object.is(a[index], b[index])) index++;
  return index;
}

const hasKeys = (record: object): boolean => Object.keys(record).length > 0;

/** A plain object, which can be diffed by key; a Map, a Date or bytes are replaced whole. */
function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
