import { isProxy } from "../../internal/node-builtins.ts";
import { type Redactor, redactText } from "../../state/secrets.ts";
import {
  describeInstance,
  isPlainObject,
  MAX_DEPTH,
  MAX_SIZE,
  refusal,
  refuseProperties,
  tooLarge,
  tooNested,
} from "../../state/values/doorway.ts";
import type { Place } from "../../state/values/path.ts";
import { TAG, taggedLeaf } from "../../state/values/tags.ts";
import { unsaidNames } from "./graph-placeholders.ts";
import type { Shadows } from "./shadows.ts";

/**
 * A value on its way into a record, before anything is known of what the record
 * can share: text where there is nothing to share, and lists where there may be.
 * Text is what the codec of `state` writes, so what it can keep is what is kept.
 */
export type Packed = string | LateText | PackedList | Template;

/** Text that another serialiser is still making; it is there before the value is written. */
export class LateText {
  text: string | undefined;
}

/** Elements that are kept once for all the lists that hold them. */
export class PackedList {
  readonly items: readonly Packed[];

  constructor(items: readonly Packed[]) {
    this.items = items;
  }
}

/** Text with lists in it. */
export class Template {
  readonly chunks: readonly (string | LateText | PackedList)[];

  constructor(chunks: readonly (string | LateText | PackedList)[]) {
    this.chunks = chunks;
  }
}

/** Puts a value together out of text and of values that are packed already. */
export class Packer {
  readonly #chunks: (string | LateText | PackedList)[] = [];
  #text = "";

  add(part: Packed): this {
    if (typeof part === "string") this.#text += part;
    else if (part instanceof Template) for (const chunk of part.chunks) this.add(chunk);
    else {
      this.#chunks.push(this.#text, part);
      this.#text = "";
    }
    return this;
  }

  done(): Packed {
    return this.#chunks.length === 0 ? this.#text : new Template([...this.#chunks, this.#text]);
  }
}

/** A list whose text is shorter than this is written where it stands. */
const SHORTEST_SHARED_LIST = 64;

/** The list of these items: shared where that pays. */
export function packedList(items: readonly Packed[]): Packed {
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") return new PackedList(items);
    length += item.length + 1;
    if (length >= SHORTEST_SHARED_LIST) return new PackedList(items);
  }
  return `[${items.join(",")}]`;
}

/** How values that are not plain data are written, for callers with their own serialiser. */
export interface ForeignValues {
  /**
   * An instance of a class as text, or `undefined` if this packer does not know the class. Must look at the instance at
   * once.
   */
  pack(value: object, place: Place, pack: PackPart): Packed | undefined;
}

/** Packs a part of a value, or without a step something that stands in its place. */
export type PackPart = (part: unknown, step?: string) => Packed;

interface Packing {
  left: number;
  /** The enclosing values: one that appears again inside itself is a cycle. */
  readonly above: Set<object>;
  readonly foreign: ForeignValues | undefined;
  readonly shadows: Shadows | undefined;
  readonly redactor: Redactor | undefined;
}

export interface PackOptions {
  readonly foreign?: ForeignValues | undefined;
  readonly shadows?: Shadows | undefined;
  /** Applied to every text that is not a name before it is packed. */
  readonly redactor?: Redactor | undefined;
}

/**
 * A value as text and lists, made at once, so that what the caller changes later
 * is not in it. What cannot be kept is refused with its path.
 */
export function packValue(value: unknown, place: Place, { foreign, shadows, redactor }: PackOptions = {}): Packed {
  return pack(value, place, 1, { left: MAX_SIZE, above: new Set(), foreign, shadows, redactor });
}

/** An object as JSON that is packed for no pool: with its own keys, each value as `packValue` writes it. */
export function membersText(value: unknown, name: string): string {
  const place = { parent: undefined, step: name };
  if (isProxy(value)) throw refusal(place, "a Proxy");
  if (!isPlainObject(value)) throw refusal(place, "no plain object");
  const packing = {
    left: MAX_SIZE,
    above: new Set([value]),
    foreign: undefined,
    shadows: undefined,
    redactor: undefined,
  };
  return writtenOut(packProperties(value, place, 0, packing));
}

function writtenOut(packed: Packed): string {
  if (typeof packed === "string") return packed;
  if (packed instanceof PackedList) return `[${packed.items.map(writtenOut).join(",")}]`;
  return packed instanceof Template ? packed.chunks.map(writtenOut).join("") : (packed.text ?? "null");
}

function pack(value: unknown, place: Place, depth: number, packing: Packing): Packed {
  switch (typeof value) {
    case "string":
      spend(packing, value.length, place);
      return JSON.stringify(packing.redactor === undefined ? value : redactText(value, packing.redactor));
    case "function":
      throw refusal(place, "a function");
    case "symbol":
      throw refusal(place, "a symbol");
    case "object":
      return value === null ? "null" : packReference(value, place, depth, packing);
    default:
      return JSON.stringify(taggedLeaf(value) ?? value);
  }
}

function packReference(value: object, place: Place, depth: number, packing: Packing): Packed {
  const known = packing.shadows?.find(value);
  if (known !== undefined) return known;
  if (packing.above.has(value)) throw refusal(place, "a cycle");
  if (depth >= MAX_DEPTH) throw tooNested(place);
  if (isProxy(value)) throw refusal(place, "a Proxy");
  spend(packing, 1, place);
  packing.above.add(value);
  const packed = Array.isArray(value)
    ? packArray(value, place, depth, packing)
    : packObject(value, place, depth, packing);
  packing.above.delete(value);
  return packed;
}

function packArray(value: readonly unknown[], place: Place, depth: number, packing: Packing): Packed {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw refusal(place, "an instance of a subclass of Array");
  if (value.length > packing.left) throw tooLarge(place);
  if (Reflect.ownKeys(value).length !== value.length + 1) {
    throw refusal(place, "an array with holes or with properties of its own");
  }
  return packItems(value, place, depth, packing);
}

function packItems(items: readonly unknown[], place: Place, depth: number, packing: Packing): Packed {
  const packed: Packed[] = [];
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const known = typeof item === "object" && item !== null ? packing.shadows?.find(item) : undefined;
    const part = known ?? pack(item, { parent: place, step: index }, depth + 1, packing);
    if (known === undefined) packing.shadows?.remember(item, part);
    packed.push(part);
  }
  return packedList(packed);
}

function packObject(value: object, place: Place, depth: number, packing: Packing): Packed {
  switch (Object.getPrototypeOf(value)) {
    case Object.prototype:
      return Object.hasOwn(value, TAG)
        ? tagged("object", packProperties(value, place, depth, packing))
        : packProperties(value, place, depth, packing);
    case null:
      return tagged("bare", packProperties(value, place, depth, packing));
    case Date.prototype: {
      refuseProperties(value, place);
      return JSON.stringify(taggedLeaf(value));
    }
    case Map.prototype: {
      refuseProperties(value, place);
      const pairs = [...(value as Map<unknown, unknown>)].map(([key, item], index) =>
        packedList([
          pack(key, { parent: place, step: `(key ${index})` }, depth + 1, packing),
          pack(item, { parent: place, step: `(value ${index})` }, depth + 1, packing),
        ]),
      );
      return tagged("map", packedList(pairs));
    }
    case Set.prototype: {
      refuseProperties(value, place);
      const items = [...(value as Set<unknown>)].map((item, index) =>
        pack(item, { parent: place, step: `(item ${index})` }, depth + 1, packing),
      );
      return tagged("set", packedList(items));
    }
    case Uint8Array.prototype:
    case Buffer.prototype:
      spend(packing, (value as Uint8Array).byteLength, place);
      return JSON.stringify(taggedLeaf(value));
    default:
      return packForeign(value, place, depth, packing);
  }
}

function packForeign(value: object, place: Place, depth: number, packing: Packing): Packed {
  const packPart: PackPart = (part, step) =>
    pack(part, step === undefined ? place : { parent: place, step }, depth + 1, packing);
  const packed = packing.foreign?.pack(value, place, packPart);
  if (packed === undefined) throw refusal(place, describeInstance(value));
  return packed;
}

function packProperties(value: object, place: Place, depth: number, packing: Packing): Packed {
  const packer = new Packer().add("{");
  const members = [...ownMembers(value, place)];
  const unsaid = packing.redactor && unsaidNames(Object.fromEntries(members.map(([key, member]) => [key, member])));
  let separator = "";
  for (const [key, member, at] of members) {
    spend(packing, key.length, at);
    packer.add(`${separator}${JSON.stringify(key)}:`);
    if (typeof member === "string" && unsaid?.has(key) === true) {
      spend(packing, member.length, at);
      packer.add(JSON.stringify(member));
    } else packer.add(pack(member, at, depth + 1, packing));
    separator = ",";
  }
  return packer.add("}").done();
}

/** The members of an object that is made of nothing but visible values. */
export function* ownMembers(
  value: object,
  place: Place,
): Generator<readonly [key: string, member: unknown, at: Place]> {
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol") throw refusal(place, `an object with the symbol key ${String(key)}`);
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined) continue;
    const at = { parent: place, step: key };
    if (!("value" in descriptor)) throw refusal(at, "a getter");
    if (!descriptor.enumerable) throw refusal(at, "a hidden (non-enumerable) property");
    yield [key, descriptor.value, at];
  }
}

/** A packed value under a tag of the codec's. */
export const tagged = (tag: string, value: Packed): Packed =>
  new Packer()
    .add(`{"$":${JSON.stringify(tag)},"v":`)
    .add(value)
    .add("}")
    .done();

function spend(packing: Packing, cost: number, place: Place): void {
  packing.left -= cost;
  if (packing.left < 0) throw tooLarge(place);
}
