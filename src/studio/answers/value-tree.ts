import { StateError } from "../../errors.ts";
import { encodeValue } from "../../state/values/codec.ts";
import { isPlainObject, SealedValue } from "../../state/values/doorway.ts";
import type { ValueAnswer, ValueChild, ValueNode, ValuePath } from "../api.ts";
import { cutAt } from "./cut.ts";

/** How many members one answer has. */
const CHILDREN_SHOWN = 100;
/** How much of a leaf is shown beside its siblings. */
const LEAF_SHOWN = 200;

/** What stands at the path; members of maps and sets are counted. */
export function valueAt(root: unknown, path: ValuePath): unknown {
  let value = root;
  for (const step of path) {
    const found = memberAt(value, step);
    if (found === undefined) throw new StateError("NOT_FOUND", "there is nothing at this path");
    value = found.value;
  }
  return value;
}

function memberAt(value: unknown, step: string | number): { readonly value: unknown } | undefined {
  if (value instanceof Map && typeof step === "number") {
    const entry = [...value.values()];
    return step in entry ? { value: entry[step] } : undefined;
  }
  const list = value instanceof Set ? [...value] : value;
  if (Array.isArray(list)) {
    return typeof step === "number" && step >= 0 && step < list.length ? { value: list[step] } : undefined;
  }
  if (typeof list !== "object" || list === null || typeof step !== "string" || !isPlainObject(list)) return undefined;
  return Object.hasOwn(list, step) ? { value: list[step] } : undefined;
}

/** One value: a leaf with its text, or how many members it has. */
export function nodeOf(value: unknown): ValueNode {
  switch (typeof value) {
    case "string":
      return { type: "text", text: cutAt(value, LEAF_SHOWN), size: value.length };
    case "number":
      return { type: "number", text: Object.is(value, -0) ? "-0" : String(value) };
    case "boolean":
      return { type: "boolean", text: String(value) };
    case "bigint":
      return { type: "bigint", text: cutAt(String(value), LEAF_SHOWN) };
    case "undefined":
      return { type: "undefined" };
    default:
      return objectNode(value);
  }
}

function objectNode(value: unknown): ValueNode {
  if (value === null) return { type: "null" };
  if (value instanceof Date)
    return { type: "date", text: Number.isNaN(value.getTime()) ? "invalid" : value.toISOString() };
  if (value instanceof Uint8Array) return { type: "bytes", size: value.byteLength };
  if (value instanceof SealedValue) return { type: "sealed" };
  if (value instanceof Map) return { type: "map", size: value.size };
  if (value instanceof Set) return { type: "set", size: value.size };
  if (Array.isArray(value)) return { type: "list", size: value.length };
  return {
    type: "object",
    size: Object.keys(value as object).length,
    ...hintOf(value as Readonly<Record<string, unknown>>),
  };
}

const TELLING = ["role", "toolName", "name", "id", "status", "question", "message", "content", "text"];

/** The texts by which people know an object, on one line. */
function hintOf(value: Readonly<Record<string, unknown>>): { readonly hint?: string } {
  const texts = TELLING.flatMap((key) => {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    return typeof member === "string" && member !== "" ? [cutAt(member, 60)] : [];
  });
  return texts.length === 0 ? {} : { hint: texts.slice(0, 3).join(" · ") };
}

/** A value and its members from one on. */
export function valueAnswer(value: unknown, from: number): ValueAnswer {
  const node = nodeOf(value);
  return { node, from, children: [...childrenOf(value, from)] };
}

function* childrenOf(value: unknown, from: number): Generator<ValueChild> {
  const until = from + CHILDREN_SHOWN;
  if (value instanceof Map) {
    for (const [index, [key, member]] of [...value].slice(from, until).entries()) {
      yield { step: from + index, label: keyText(key), ...nodeOf(member) };
    }
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const [index, member] of [...value].slice(from, until).entries()) {
      yield { step: from + index, label: String(from + index), ...nodeOf(member) };
    }
  } else if (isPlainObject(value)) {
    for (const key of Object.keys(value).slice(from, until)) {
      yield { step: key, label: cutAt(key, LEAF_SHOWN), ...nodeOf(value[key]) };
    }
  }
}

const keyText = (key: unknown): string => cutAt(typeof key === "string" ? key : jsonText(key), LEAF_SHOWN);

/** A value as JSON with the codec's tags. */
export function jsonText(value: unknown, indent?: number): string {
  return value === undefined ? "" : JSON.stringify(encodeValue(value, "value"), null, indent);
}
