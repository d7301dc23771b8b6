import type { StateFields } from "./fields.ts";
import {
  type ConversationList,
  conversationOf,
  fieldsWith,
  GrownList,
  grownBy,
  knownInCommon,
} from "./growing-list.ts";
import { defineOwn, own } from "./values/doorway.ts";

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

const MESSAGES = "messages";

/** The delta; and whether more was rewritten than kept (a compaction, an edited history): then a new base is smaller and simpler. */
export function diffFields(
  before: StateFields,
  after: StateFields,
): { readonly delta: StateDelta; readonly isRewrite: boolean } {
  const changes: Changes = {};
  let kept = 0;
  let rewritten = 0;
  let common = 0;
  for (const name of Object.keys(after)) {
    const a = valueIn(before, name);
    const b = valueIn(after, name);
    const isSame = Object.is(a, b);
    // No stored value is one that every object inherits, so the same value is the field's own.
    const isOld = (isSame && b !== undefined) || Object.hasOwn(before, name);
    if (isOld) common++;
    if (isOld && isSame) {
      if (isList(a)) kept += a.length;
    } else if (isList(a) && isList(b)) {
      const keep = sharedPrefix(a, b);
      if (keep === a.length && keep === b.length) continue;
      const items = itemsFrom(b, keep);
      kept += keep;
      if (keep < a.length) rewritten += items.length;
      if (keep === a.length) changes.append = withOwn(changes.append, name, items);
      else changes.lists = withOwn(changes.lists, name, { keep, items });
    } else if (isRecord(a) && isRecord(b)) {
      const delta = diffRecord(a, b);
      if (delta === "replace") changes.set = withOwn(changes.set, name, b);
      else if (delta !== undefined) changes.records = withOwn(changes.records, name, delta);
    } else changes.set = withOwn(changes.set, name, isList(b) ? arrayOf(b) : b);
  }
  const names = Object.keys(before);
  if (common !== names.length) changes.unset = names.filter((name) => !Object.hasOwn(after, name));
  return { delta: changes, isRewrite: rewritten > kept };
}

/** Without reading a long conversation. */
const valueIn = (fields: StateFields, name: string): unknown =>
  name === MESSAGES ? conversationOf(fields) : (fields as unknown as Fields)[name];

const isList = (value: unknown): value is ConversationList<unknown> =>
  Array.isArray(value) || value instanceof GrownList;

const arrayOf = (list: ConversationList<unknown>): readonly unknown[] =>
  list instanceof GrownList ? list.list() : list;

type Changes = { -readonly [Key in keyof StateDelta]: StateDelta[Key] };

function withOwn<T>(
  changes: Readonly<Record<string, T>> | undefined,
  name: string,
  value: T,
): Readonly<Record<string, T>> {
  const longer: Readonly<Record<string, T>> = changes ?? {};
  defineOwn(longer, name, value);
  return longer;
}

/** `slice` copies a frozen list item by item, and so does this; but most often there is one. */
function itemsFrom(list: ConversationList<unknown>, from: number): readonly unknown[] {
  if (list instanceof GrownList) return list.from(from);
  const items: unknown[] = [];
  for (let index = from; index < list.length; index++) items.push(list[index]);
  return items;
}

/**
 * A state that deltas are added to. It works on private copies and freezes them
 * once at the end, so a long chain costs no more than its items.
 */
export class DeltaFold {
  readonly #before: StateFields;
  readonly #fields: Record<string, unknown> = {};
  readonly #drafts = new Set<string>();
  /** What comes behind the conversation, which is not copied for it. */
  #added: unknown[] = [];
  #isChanged = false;

  constructor(before: StateFields) {
    this.#before = before;
    for (const name of Object.keys(before)) defineOwn(this.#fields, name, valueIn(before, name));
  }

  add({ unset, set, append, lists, records }: StateDelta): void {
    const fields = this.#fields;
    this.#isChanged = true;
    for (const name of unset ?? []) {
      delete fields[name];
      this.#forget(name);
    }
    for (const name of keysOf(set)) {
      defineOwn(fields, name, set?.[name]);
      this.#forget(name);
    }
    for (const name of keysOf(append)) {
      const list = name === MESSAGES ? this.#added : (this.#draft(name) as unknown[]);
      for (const item of append?.[name] ?? []) list.push(item);
    }
    for (const name of keysOf(lists)) {
      const { keep = 0, items = [] } = lists?.[name] ?? {};
      const list = this.#draft(name) as unknown[];
      list.length = keep;
      for (const item of items) list.push(item);
    }
    for (const name of keysOf(records)) {
      changeRecord(this.#draft(name) as Record<string, unknown>, records?.[name] ?? {});
    }
  }

  #forget(name: string): void {
    this.#drafts.delete(name);
    if (name === MESSAGES) this.#added = [];
  }

  #draft(name: string): unknown {
    if (name === MESSAGES) this.#takeIn();
    if (!this.#drafts.has(name)) {
      const value = this.#fields[name];
      defineOwn(this.#fields, name, isList(value) ? [...arrayOf(value)] : { ...(value as object) });
      this.#drafts.add(name);
    }
    return this.#fields[name];
  }

  #takeIn(): void {
    if (this.#added.length === 0) return;
    const list = this.#fields[MESSAGES] as ConversationList<unknown>;
    if (!this.#drafts.has(MESSAGES)) defineOwn(this.#fields, MESSAGES, grownBy(list, this.#added));
    else for (const item of this.#added) (list as unknown[]).push(item);
    this.#added = [];
  }

  /** Nothing can be added any more. */
  end(): StateFields {
    if (!this.#isChanged) return this.#before;
    this.#takeIn();
    for (const name of this.#drafts) own(this.#fields[name] as object);
    return fieldsWith(this.#fields as unknown as StateFields, {});
  }
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
  for (const key of keysOf(set)) defineOwn(record, key, set?.[key]);
}

function sharedPrefix(a: ConversationList<unknown>, b: ConversationList<unknown>): number {
  const end = Math.min(a.length, b.length);
  let index = knownInCommon(a, b);
  while (index < end && Object.is(a.at(index), b.at(index))) index++;
  return index;
}

const NO_KEYS: readonly string[] = [];

const keysOf = (record: object | undefined): readonly string[] =>
  record === undefined ? NO_KEYS : Object.keys(record);

const hasKeys = (record: object): boolean => Object.keys(record).length > 0;

/** A plain object, which can be diffed by key; a Map, a Date or bytes are replaced whole. */
function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
