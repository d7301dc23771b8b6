import type { Packed } from "./packing.ts";

/** One object of a value as it was: its prototype, its keys, and what they led to. Objects in it have layers of their own. */
interface Layer {
  readonly object: object;
  readonly prototype: unknown;
  readonly keys: readonly string[];
  readonly values: readonly unknown[];
}

interface Remembered {
  readonly layers: readonly Layer[];
  readonly packed: Packed;
}

/** Remembering costs about as much as the object: a smaller one is packed again just as fast. */
const SHORTEST_REMEMBERED = 96;
const MOST_LEVELS = 12;

/**
 * What objects were packed as, while they are as they were. Of what a program keeps
 * changing it packs little anew, but it may hold the same object and have changed it
 * in place: so each is compared with how it looked. Strings are compared by reference
 * first, so their text is rarely read.
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
    return known?.layers.every(isAsBefore) === true ? known.packed : undefined;
  }

  remember(value: unknown, packed: Packed): void {
    if (typeof value !== "object" || value === null) return;
    if (typeof packed === "string" && packed.length < SHORTEST_REMEMBERED) return;
    const layers: Layer[] = [];
    if (this.#addLayers(value, 0, layers)) this.#known.set(value, { layers, packed });
  }

  /** False where something in it can change without being noticed. */
  #addLayers(object: object, level: number, layers: Layer[]): boolean {
    const prototype: unknown = Object.getPrototypeOf(object);
    const isPlain = prototype === Object.prototype || prototype === Array.prototype;
    if (level > MOST_LEVELS || !(isPlain || this.#mayHold(object))) return false;
    const keys: string[] = [];
    const values: unknown[] = [];
    for (const key in object) {
      keys.push(key);
      values.push((object as Record<string, unknown>)[key]);
    }
    layers.push({ object, prototype, keys, values });
    return values.every(
      (part) => typeof part !== "object" || part === null || this.#addLayers(part, level + 1, layers),
    );
  }
}

/** `for in` makes no list of keys, of which a long state would need tens of thousands for each put. */
function isAsBefore({ object, prototype, keys, values }: Layer): boolean {
  if (Object.getPrototypeOf(object) !== prototype) return false;
  let index = 0;
  for (const key in object) {
    if (key !== keys[index] || !Object.is((object as Record<string, unknown>)[key], values[index])) return false;
    index++;
  }
  return index === keys.length;
}
