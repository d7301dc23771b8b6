import { isProxy } from "../../internal/node-builtins.ts";
import { type Redactor, redactText } from "../../state/secrets.ts";
import {
  describeInstance,
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
import { type Packed, Packer, packedList } from "./packed.ts";
import type { Shadows } from "./shadows.ts";

/** How values that are not plain data are written, for callers with their own serialiser. */
export interface ForeignValues {
  /** An instance of a class as text, or `undefined` where it is not one of theirs. Must look at the instance at once. */
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
    const part = pack(item, { parent: place, step: index }, depth + 1, packing);
    packing.shadows?.remember(item, part);
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
