import { StateError } from "../../errors.ts";
import { isProxy } from "../../internal/node-builtins.ts";
import { type Place, readablePath } from "./path.ts";

/**
 * The doorway into state. What passes is a private, frozen copy that contains
 * only values the codec can keep; anything else is refused with its path before
 * it can reach a log. A value that passed before is recognised and shared instead
 * of copied, which lets a save find the new parts by identity.
 */

export const MAX_DEPTH = 500;
/** Counts characters and nodes, so that a huge string or an exploding graph is refused before it is copied. */
export const MAX_SIZE: number = 64 * 1024 * 1024;

/**
 * How deep a part of a state lies below the state itself: a field's value, or an
 * item of a list or object there. A value is measured from where it will stand,
 * so that nothing enters that a load would find too deep.
 */
export const FIELD_DEPTH = 1;
export const ITEM_DEPTH = 2;

/** One passage through the doorway. */
interface Passage {
  /** What the copy may still cost. */
  left: number;
  /**
   * Down to this depth, parts that passed the doorway before are not counted
   * again: a state may hold more than a single value may.
   */
  readonly sharedDepth: number;
  /** Copies made so far; `undefined` marks one under way. A repeated object is shared, and a cycle is detected. */
  readonly copies: Map<object, object | undefined>;
}

/** The depth and size of an owned value once every shared part is written out. */
interface Measure {
  readonly depth: number;
  readonly size: number;
}

/** Whether the whole value passed the doorway before. */
export let isOwned: (value: object) => boolean;
/** What the one module that looks after this kind of object (lists, fields) noted on an owned one. */
export let noteOn: (value: object) => unknown;
export let makeNote: (value: object, note: unknown) => void;
let knownMeasure: (value: object) => Measure | undefined;
let keepMeasure: (value: object, measure: Measure) => void;

/** A constructor that returns what it was given, so that a subclass adds its fields to that. */
class Given {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: returning another object is the point
    return value;
  }
}

/**
 * On what passed the doorway. A private field, which no other file can see, copy or forge, and which neither JSON, a
 * spread nor a listing of keys shows. A `WeakSet` would do the same, but filling one for every part of a long
 * conversation cost more than parsing it.
 */
class Mark extends Given {
  #measure: Measure | undefined = undefined;
  #note: unknown = undefined;

  static {
    isOwned = (value) => #measure in value;
    noteOn = (value) => (#measure in value ? value.#note : undefined);
    makeNote = (value, note) => {
      if (#measure in value) value.#note = note;
    };
    knownMeasure = (value) => (#measure in value ? value.#measure : undefined);
    keepMeasure = (value, measure) => {
      if (#measure in value) value.#measure = measure;
    };
  }
}

/** Marks an object that is not frozen yet: JavaScript is about to refuse new private fields on frozen ones. */
export function marked<T extends object>(value: T): T {
  if (!isOwned(value)) new Mark(value);
  return value;
}

/** Marks an object that this package made, and freezes it. The caller vouches that everything below it is owned too. */
export const own = <T extends object>(value: T): T => Object.freeze(marked(value));

/** A frozen copy of `value` that can be stored, or `INVALID_ARGUMENT` naming the part that cannot be. */
export function immutableCopy<T>(value: T, name: string): T {
  return pass(value, name, 0, -1);
}

/** The same for a part of a state that will lie `depth` levels below it: 0 for a state's fields themselves. */
export const immutablePart = <T>(value: T, name: string, depth: number): T => pass(value, name, depth, ITEM_DEPTH);

function pass<T>(value: T, name: string, depth: number, sharedDepth: number): T {
  const passage = { left: MAX_SIZE, sharedDepth, copies: new Map() };
  return copy(value, { parent: undefined, step: name }, depth, passage) as T;
}

/** A plain object, as opposed to a list, a Date, a Map or bytes. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Assignment that treats "__proto__" as the ordinary key it is in stored data. A key that neither the object nor a
 * prototype has meets no setter, and is assigned: that takes a fraction of the time.
 */
export function defineOwn(target: object, key: string, value: unknown): void {
  if (!(key in target)) (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

function copy(value: unknown, place: Place, depth: number, passage: Passage): unknown {
  switch (typeof value) {
    case "function":
      throw refusal(place, "a function");
    case "symbol":
      throw refusal(place, "a symbol");
    case "object":
      if (value !== null) return copyReference(value, place, depth, passage);
  }
  spend(passage, typeof value === "string" ? value.length : 1, place);
  return value;
}

function copyReference(value: object, place: Place, depth: number, passage: Passage): unknown {
  if (passage.copies.has(value) && passage.copies.get(value) === undefined) throw refusal(place, "a cycle");
  const known = isOwned(value) ? value : passage.copies.get(value);
  if (known !== undefined) {
    const measure = measureOf(known);
    if (depth + measure.depth > MAX_DEPTH) throw tooNested(place);
    if (depth > passage.sharedDepth) spend(passage, measure.size, place);
    else if (!isSharable(known, passage.sharedDepth - depth)) throw tooLarge(place);
    return known;
  }
  if (depth >= MAX_DEPTH) throw tooNested(place);
  if (isProxy(value)) throw refusal(place, "a Proxy");
  spend(passage, 1, place);
  passage.copies.set(value, undefined);
  const made = Array.isArray(value)
    ? copyArray(value, place, depth, passage)
    : copyObject(value, place, depth, passage);
  passage.copies.set(value, made);
  return made;
}

/**
 * A state may hold many values, but each must be within the limit. A value that
 * contains itself twice, again and again, soon is not.
 */
function isSharable(value: unknown, levels: number): boolean {
  if (measureOf(value).size <= MAX_SIZE) return true;
  if (levels === 0 || typeof value !== "object" || value === null) return false;
  for (const part of partsOf(value)) if (!isSharable(part, levels - 1)) return false;
  return true;
}

function spend(passage: Passage, cost: number, place: Place): void {
  passage.left -= cost;
  if (passage.left < 0) throw tooLarge(place);
}

/** A lower bound for the bytes that an owned value takes when stored. */
export const leastBytesOf = (value: unknown): number => measureOf(value).size;

function measureOf(value: unknown): Measure {
  if (typeof value === "string") return { depth: 0, size: value.length };
  if (typeof value !== "object" || value === null) return { depth: 0, size: 1 };
  const known = knownMeasure(value);
  if (known !== undefined) return known;
  let [depth, size] = [0, value instanceof Uint8Array ? value.byteLength : 1];
  for (const part of partsOf(value)) {
    const measure = measureOf(part);
    depth = Math.max(depth, measure.depth);
    size += measure.size;
  }
  const measure = { depth: depth + 1, size };
  keepMeasure(value, measure);
  return measure;
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Set) return value;
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  return value instanceof Uint8Array ? [] : [...Object.keys(value), ...Object.values(value)];
}

function copyArray(value: readonly unknown[], place: Place, depth: number, passage: Passage): object {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw refusal(place, "an instance of a subclass of Array");
  if (value.length > passage.left) throw tooLarge(place);
  const keys = Reflect.ownKeys(value);
  if (keys.length !== value.length + 1) {
    throw refusal(place, "an array with holes or with properties of its own");
  }
  const items: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    const descriptor = Object.getOwnPropertyDescriptor(value, index);
    const at = { parent: place, step: index };
    if (descriptor === undefined) throw refusal(at, "a hole in an array");
    if (!("value" in descriptor)) throw refusal(at, "a getter");
    items.push(copy(descriptor.value, at, depth + 1, passage));
  }
  return own(items);
}

function copyObject(value: object, place: Place, depth: number, passage: Passage): object {
  switch (Object.getPrototypeOf(value)) {
    case Object.prototype:
      return copyProperties(value, {}, place, depth, passage);
    case null:
      return copyProperties(value, Object.create(null), place, depth, passage);
    case Date.prototype:
      refuseProperties(value, place);
      return own(freezeDate(new Date((value as Date).getTime())));
    case Map.prototype: {
      refuseProperties(value, place);
      const entries: [unknown, unknown][] = [];
      for (const [key, item] of value as Map<unknown, unknown>) {
        const keyPlace = { parent: place, step: `(key ${entries.length})` };
        const itemPlace = { parent: place, step: `(value ${entries.length})` };
        entries.push([copy(key, keyPlace, depth + 1, passage), copy(item, itemPlace, depth + 1, passage)]);
      }
      return own(freezeMap(new Map(entries)));
    }
    case Set.prototype: {
      refuseProperties(value, place);
      const items: unknown[] = [];
      for (const item of value as Set<unknown>) {
        const itemPlace = { parent: place, step: `(item ${items.length})` };
        items.push(copy(item, itemPlace, depth + 1, passage));
      }
      return own(freezeSet(new Set(items)));
    }
    case SealedValue.prototype: {
      const { keyId, sealed } = value as SealedValue;
      spend(passage, sealed.length, place);
      return own(new SealedValue(keyId, sealed));
    }
    case Uint8Array.prototype:
    case Buffer.prototype:
      return copyBytes(value as Uint8Array, place, passage);
    default:
      throw refusal(place, describeInstance(value));
  }
}

function copyProperties(
  value: object,
  target: Record<string, unknown>,
  place: Place,
  depth: number,
  passage: Passage,
): object {
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol") throw refusal(place, `an object with the symbol key ${String(key)}`);
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined) continue;
    const at = { parent: place, step: key };
    if (!("value" in descriptor)) throw refusal(at, "a getter");
    if (!descriptor.enumerable) throw refusal(at, "a hidden (non-enumerable) property");
    spend(passage, key.length, at);
    const item = copy(descriptor.value, at, depth + 1, passage);
    defineOwn(target, key, item);
  }
  return own(target);
}

/** A private copy, so that later writes to the caller's bytes have no effect. */
function copyBytes(value: Uint8Array, place: Place, passage: Passage): Uint8Array {
  spend(passage, value.byteLength, place);
  return ownBytes(Buffer.isBuffer(value) ? Buffer.from(value) : new Uint8Array(value));
}

/** Typed arrays cannot be frozen. A later save detects writes to these; see watched-bytes.ts. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return marked(bytes);
}

export function refuseProperties(value: object, place: Place): void {
  if (Reflect.ownKeys(value).length > 0) {
    throw refusal(place, `${describeInstance(value)} with properties of its own`);
  }
}

export function describeInstance(value: object): string {
  const made: unknown = Object.getPrototypeOf(value)?.constructor;
  const name = typeof made === "function" && made.name !== "" ? made.name : "an unnamed class";
  return `an instance of ${name}`;
}

export const tooNested = (place: Place): StateError => refusal(place, `nested more than ${MAX_DEPTH} levels deep`);

export function refusal(place: Place, what: string): StateError {
  const path = readablePath(place);
  return new StateError("INVALID_ARGUMENT", `${path}: ${what} cannot be stored; keep plain data there`, { path });
}

export function tooLarge(place: Place): StateError {
  const path = readablePath(place);
  return new StateError("TOO_LARGE", `${path}: the value is larger than ${MAX_SIZE} characters in all`, { path });
}

/**
 * Freezing does not reach the content of a Map, a Set or a Date. A change in
 * place would look saved and be lost with the process. So the methods that change
 * them are replaced, on these instances alone; readers still see ordinary Maps,
 * Sets and Dates.
 */

const MAP_CHANGES = ["set", "delete", "clear"];
const SET_CHANGES = ["add", "delete", "clear"];
const DATE_CHANGES = Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith("set"));

export const freezeMap = <T extends object>(map: T): T => Object.defineProperties(map, MAP_REFUSALS);
export const freezeSet = <T extends object>(set: T): T => Object.defineProperties(set, SET_REFUSALS);
export const freezeDate = (date: Date): Date => Object.defineProperties(date, DATE_REFUSALS);

const MAP_REFUSALS = refusals(MAP_CHANGES, "Map", "new Map(it)");
const SET_REFUSALS = refusals(SET_CHANGES, "Set", "new Set(it)");
const DATE_REFUSALS = refusals(DATE_CHANGES, "Date", "new Date(it)");

/** Not enumerable, so that comparing and printing are not affected. */
function refusals(names: readonly string[], kind: string, copy: string): PropertyDescriptorMap {
  const one = (name: string): PropertyDescriptor => ({
    enumerable: false,
    value: (): never => {
      throw new TypeError(
        `${name}() on a ${kind} that belongs to a state, which never changes: change a copy, ${copy}, and hand that to a with…() method`,
      );
    },
  });
  return Object.fromEntries(names.map((name) => [name, one(name)]));
}

/**
 * A value sealed with a key that is not at hand. It is stored and passed on unchanged:
 * a process with the key can open it, and for every other one the rest of the state
 * still loads. The doorway freezes it, like everything in a state.
 */
export class SealedValue {
  /** The name of the key that it was sealed with, never the key. */
  readonly keyId: string;
  /** The sealed bytes, in base64. */
  readonly sealed: string;

  constructor(keyId: string, sealed: string) {
    this.keyId = keyId;
    this.sealed = sealed;
  }
}
