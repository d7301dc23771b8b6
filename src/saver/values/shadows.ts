import type { Packed } from "./packing.ts";

/** What an object looked like: its prototype, its keys, and its values or their shadows. */
interface Shadow {
  readonly prototype: unknown;
  readonly keys: readonly string[];
  readonly values: readonly unknown[];
}

/** Marks a nested shadow among plain values. */
class Nested {
  readonly object: object;
  readonly shadow: Shadow;

  constructor(object: object, shadow: Shadow) {
    this.object = object;
    this.shadow = shadow;
  }
}

interface Remembered {
  readonly shadow: Shadow;
  readonly packed: Packed;
}

/** A shadow costs about as much as the object: a smaller one is packed again just as fast. */
const SHORTEST_REMEMBERED = 96;
const MOST_LEVELS = 12;

/**
 * Recognises elements that were packed before. A graph's state is mutable, so the
 * same object does not prove the same value: each is compared with its earlier
 * shape. Strings are compared by reference first, so their text is rarely read.
 */
export class Shadows {
  readonly #known = new WeakMap<object, Remembered>();
  readonly #mayHold: (value: object) => boolean;

  /** `mayHold` names the instances of classes whose text depends on nothing but their own properties. */
  constructor(mayHold: (value: object) => boolean = () => false) {
    this.#mayHold = mayHold;
  }

  find(value: object): Packed | undefined {
    const known = this.#known.get(value);
    return known !== undefined && isAsBefore(value, known.shadow) ? known.packed : undefined;
  }

  remember(value: unknown, packed: Packed): void {
    if (typeof value !== "object" || value === null) return;
    if (typeof packed === "string" && packed.length < SHORTEST_REMEMBERED) return;
    if (this.#known.get(value)?.packed === packed) return;
    const shadow = this.#shadowOf(value, 0);
    if (shadow !== undefined) this.#known.set(value, { shadow, packed });
  }

  #shadowOf(value: object, level: number): Shadow | undefined {
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === Array.prototype;
    if (level > MOST_LEVELS || !(isPlain || this.#mayHold(value))) return undefined;
    const keys = Object.keys(value);
    const values: unknown[] = [];
    for (const key of keys) {
      const part = (value as Record<string, unknown>)[key];
      if (typeof part !== "object" || part === null) {
        values.push(part);
        continue;
      }
      const shadow = this.#shadowOf(part, level + 1);
      if (shadow === undefined) return undefined;
      values.push(new Nested(part, shadow));
    }
    return { prototype, keys, values };
  }
}

function isAsBefore(value: object, shadow: Shadow): boolean {
  if (Object.getPrototypeOf(value) !== shadow.prototype) return false;
  const keys = Object.keys(value);
  if (keys.length !== shadow.keys.length) return false;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    if (key !== shadow.keys[index]) return false;
    const before = shadow.values[index];
    const now = (value as Record<string, unknown>)[key];
    if (before instanceof Nested) {
      if (now !== before.object || !isAsBefore(before.object, before.shadow)) return false;
    } else if (!Object.is(now, before)) return false;
  }
  return true;
}
