import type { StateFields } from "./fields.ts";
import type { Message } from "./message.ts";
import { encodeText } from "./values/codec.ts";
import { isPlainObject } from "./values/doorway.ts";

/** The differences between two lists, from where they part. */
export interface ListDiff<Item = unknown> {
  /** How many items both share from the start. */
  readonly shared: number;
  readonly removed: readonly Item[];
  readonly added: readonly Item[];
}

/** The differences between two checkpoints, for people to read. */
export interface StateDiff {
  readonly messages: ListDiff<Message>;
  /** Every other field that differs, by name; keys of objects as `metadata.key`. */
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
  /** Only of a graph's thread: the fields that are lists on both sides, such as `channel_values.messages`. */
  readonly lists?: Readonly<Record<string, ListDiff>>;
}

/** Compares by value: the two states may come from different threads or backends. */
export function diffStates(before: StateFields, after: StateFields): StateDiff {
  const fields: Record<string, { before: unknown; after: unknown }> = Object.create(null);
  const [{ messages: were, ...old }, { messages: are, ...current }] = [before, after];
  eachDifference(old, current, (name, was, is) => {
    fields[name] = { before: was, after: is };
  });
  return { messages: diffLists(were, are), fields };
}

/** Every member that differs, by its name, and one level down where both are objects. */
export function eachDifference(
  before: object,
  after: object,
  report: (name: string, before: unknown, after: unknown) => void,
): void {
  for (const name of namesOf(before, after)) {
    const [a, b] = [ownValue(before, name), ownValue(after, name)];
    if (!(isPlainObject(a) && isPlainObject(b))) {
      if (!same(a, b)) report(name, a, b);
      continue;
    }
    for (const key of namesOf(a, b)) {
      const [was, is] = [ownValue(a, key), ownValue(b, key)];
      if (!same(was, is)) report(`${name}.${key}`, was, is);
    }
  }
}

const namesOf = (a: object, b: object): ReadonlySet<string> => new Set([...Object.keys(a), ...Object.keys(b)]);

export function diffLists<Item>(before: readonly Item[], after: readonly Item[]): ListDiff<Item> {
  const shared = commonStart(before, after);
  return { shared, removed: before.slice(shared), added: after.slice(shared) };
}

function commonStart(a: readonly unknown[], b: readonly unknown[]): number {
  let index = 0;
  while (index < a.length && index < b.length && same(a[index], b[index])) index++;
  return index;
}

/** As the stored texts would compare. Plain data is compared as it is: two long conversations are mostly that. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => same(item, b[index]));
  if (isPlainObject(a) && isPlainObject(b)) {
    const [keys, others] = [Object.keys(a), Object.keys(b)];
    const isAlike = Object.getPrototypeOf(a) === Object.getPrototypeOf(b) && keys.length === others.length;
    return isAlike && keys.every((key, index) => key === others[index] && same(a[key], b[key]));
  }
  return encodeText(a, "value") === encodeText(b, "value");
}

const ownValue = (record: object, key: string): unknown =>
  Object.hasOwn(record, key) ? (record as Readonly<Record<string, unknown>>)[key] : undefined;
