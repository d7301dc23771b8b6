import { types } from "node:util";
import { StateError } from "../errors.ts";

/**
 * The doorway into state. What passes it is a private, frozen copy made only of
 * values the codec can keep; anything else is refused with its path before it
 * can reach a log. A value that passed once is recognised and shared, not
 * copied again: that is what lets a save find the new parts by identity.
 */

export const MAX_DEPTH = 500;
/** Counts characters and nodes, so that a huge string or an exploding graph is refused before it is copied. */
export const MAX_SIZE: number = 64 * 1024 * 1024;

/** Where a value lies. Linked, so that no string is built unless something is refused. */
interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
  readonly value: unknown;
}

const owned = new WeakSet<object>();

/** Marks an object that this package made and froze. The caller vouches that everything below it is owned too. */
export function own<T extends object>(value: T): T {
  owned.add(Object.freeze(value));
  return value;
}

export const isOwned = (value: object): boolean => owned.has(value);

/** A frozen copy of `value` that can be stored, or `INVALID_ARGUMENT` naming the part that cannot. */
export function immutableCopy<T>(value: T, name: string): T {
  const budget = { left: MAX_SIZE };
  return copy(value, { parent: undefined, step: name, value }, 0, budget) as T;
}

function copy(value: unknown, place: Place, depth: number, budget: { left: number }): unknown {
  budget.left -= typeof value === "string" ? value.length : 1;
  if (budget.left < 0) throw tooLarge(place);
  switch (typeof value) {
    case "function":
      throw refusal(place, "a function");
    case "symbol":
      throw refusal(place, "a symbol");
    case "object":
      break;
    default:
      return value;
  }
  if (value === null || owned.has(value)) return value;
  if (depth >= MAX_DEPTH)
    throw refusal(place, isCyclic(place) ? "a cycle" : `nested more than ${MAX_DEPTH} levels deep`);
  if (types.isProxy(value)) throw refusal(place, "a Proxy");
  if (Array.isArray(value)) return copyArray(value, place, depth, budget);
  return copyObject(value, place, depth, budget);
}

function copyArray(value: readonly unknown[], place: Place, depth: number, budget: { left: number }): unknown {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw refusal(place, "an instance of a subclass of Array");
  if (value.length > budget.left) throw tooLarge(place);
  const keys = Reflect.ownKeys(value);
  if (keys.length !== value.length + 1) {
    throw refusal(place, "an array with holes or with properties of its own");
  }
  const items: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    const descriptor = Object.getOwnPropertyDescriptor(value, index);
    const at = { parent: place, step: index, value: descriptor?.value };
    if (descriptor === undefined) throw refusal(at, "a hole in an array");
    if (!("value" in descriptor)) throw refusal(at, "a getter");
    items.push(copy(descriptor.value, at, depth + 1, budget));
  }
  return own(items);
}

function copyObject(value: object, place: Place, depth: number, budget: { left: number }): unknown {
  switch (Object.getPrototypeOf(value)) {
    case Object.prototype:
      return copyProperties(value, {}, place, depth, budget);
    case null:
      return copyProperties(value, Object.create(null), place, depth, budget);
    case Date.prototype:
      refuseProperties(value, place);
      return own(new Date((value as Date).getTime()));
    case Map.prototype: {
      refuseProperties(value, place);
      const entries: [unknown, unknown][] = [];
      for (const [key, item] of value as Map<unknown, unknown>) {
        const keyPlace = { parent: place, step: `(key ${entries.length})`, value: key };
        const itemPlace = { parent: place, step: `(value ${entries.length})`, value: item };
        entries.push([copy(key, keyPlace, depth + 1, budget), copy(item, itemPlace, depth + 1, budget)]);
      }
      return own(new Map(entries));
    }
    case Set.prototype: {
      refuseProperties(value, place);
      const items: unknown[] = [];
      for (const item of value as Set<unknown>) {
        const itemPlace = { parent: place, step: `(item ${items.length})`, value: item };
        items.push(copy(item, itemPlace, depth + 1, budget));
      }
      return own(new Set(items));
    }
    case Uint8Array.prototype:
    case Buffer.prototype:
      return copyBytes(value as Uint8Array, place, budget);
    default:
      throw refusal(place, describeInstance(value));
  }
}

function copyProperties(
  value: object,
  target: Record<string, unknown>,
  place: Place,
  depth: number,
  budget: { left: number },
): unknown {
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol") throw refusal(place, `an object with the symbol key ${String(key)}`);
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined) continue;
    const at = { parent: place, step: key, value: descriptor.value };
    if (!("value" in descriptor)) throw refusal(at, "a getter");
    if (!descriptor.enumerable) throw refusal(at, "a hidden (non-enumerable) property");
    budget.left -= key.length;
    const item = copy(descriptor.value, at, depth + 1, budget);
    if (key === "__proto__") Object.defineProperty(target, key, { value: item, enumerable: true });
    else target[key] = item;
  }
  return own(target);
}

/** Typed arrays cannot be frozen; the private copy is what keeps a caller's later writes out. */
function copyBytes(value: Uint8Array, place: Place, budget: { left: number }): Uint8Array {
  budget.left -= value.byteLength;
  if (budget.left < 0) throw tooLarge(place);
  const bytes = Buffer.isBuffer(value) ? Buffer.from(value) : new Uint8Array(value);
  owned.add(bytes);
  return bytes;
}

function refuseProperties(value: object, place: Place): void {
  if (Reflect.ownKeys(value).length > 0) {
    throw refusal(place, `${describeInstance(value)} with properties of its own`);
  }
}

function describeInstance(value: object): string {
  const made: unknown = Object.getPrototypeOf(value)?.constructor;
  const name = typeof made === "function" && made.name !== "" ? made.name : "an unnamed class";
  return `an instance of ${name}`;
}

function isCyclic(place: Place): boolean {
  for (let above = place.parent; above !== undefined; above = above.parent) {
    if (above.value === place.value) return true;
  }
  return false;
}

function refusal(place: Place, what: string): StateError {
  const path = render(isDeep(place) ? shorten(place) : place);
  return new StateError("INVALID_ARGUMENT", `${path}: ${what} cannot be stored; keep plain data there`, { path });
}

function tooLarge(place: Place): StateError {
  const path = render(isDeep(place) ? shorten(place) : place);
  return new StateError("TOO_LARGE", `${path}: the value is larger than ${MAX_SIZE} characters in all`, { path });
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const MAX_SHOWN_STEPS = 12;

function isDeep(place: Place): boolean {
  let steps = 0;
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) steps++;
  return steps > MAX_SHOWN_STEPS;
}

/** The first steps of a very deep place: enough to find it, short enough to read. */
function shorten(place: Place): Place {
  const steps: Place[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) steps.unshift(at);
  const last = steps[MAX_SHOWN_STEPS - 1] ?? place;
  return { parent: last, step: "…", value: undefined };
}

function render(place: Place): string {
  if (place.parent === undefined) return String(place.step);
  const before = render(place.parent);
  if (typeof place.step === "number") return `${before}[${place.step}]`;
  if (place.step === "…" || place.step.startsWith("(")) return `${before}${place.step}`;
  return IDENTIFIER.test(place.step) ? `${before}.${place.step}` : `${before}[${JSON.stringify(place.step)}]`;
}
