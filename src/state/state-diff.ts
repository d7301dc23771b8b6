import { encodeText } from "./codec.ts";
import { isPlainObject } from "./immutable.ts";
import type { Message } from "./message.ts";
import type { StateFields } from "./state-fields.ts";

/** The differences between two checkpoints, for people to read. */
export interface StateDiff {
  readonly messages: {
    /** How many messages both share from the start. */
    readonly shared: number;
    readonly removed: readonly Message[];
    readonly added: readonly Message[];
  };
  /** Every other field that differs, by name; keys of objects as `metadata.key`. */
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
}

/** Compares by value: the two states may come from different threads or backends. */
export function diffStates(before: StateFields, after: StateFields): StateDiff {
  const shared = commonStart(before.messages, after.messages);
  const fields: Record<string, { before: unknown; after: unknown }> = Object.create(null);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  names.delete("messages");
  for (const name of names) {
    const [a, b] = [ownValue(before, name), ownValue(after, name)];
    if (isPlainObject(a) && isPlainObject(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        const [before, after] = [ownValue(a, key), ownValue(b, key)];
        if (!same(before, after)) fields[`${name}.${key}`] = { before, after };
      }
    } else if (!same(a, b)) fields[name] = { before: a, after: b };
  }
  return {
    messages: { shared, removed: before.messages.slice(shared), added: after.messages.slice(shared) },
    fields,
  };
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
