import { types } from "node:util";
import { describeInstance, MAX_DEPTH, refusal, tooNested } from "../../state/values/doorway.ts";
import type { Place } from "../../state/values/path.ts";

/**
 * LangGraph's serialiser is JSON with a few additions. What it would silently change or
 * drop inside an instance of a LangChain class (a message) is refused with its path,
 * before anything is written.
 */
export function assertKeptByJson(value: object, place: Place): void {
  look(value, place, 0, new Set());
}

function look(value: unknown, place: Place, depth: number, above: Set<object>): void {
  switch (typeof value) {
    case "function":
      throw refusal(place, "a function");
    case "symbol":
      throw refusal(place, "a symbol");
    case "bigint":
      throw refusal(place, "a BigInt inside an instance of a LangChain class");
    case "number":
      if (!Number.isFinite(value) || Object.is(value, -0))
        throw refusal(place, `the number ${shown(value)} inside an instance of a LangChain class`);
      return;
    case "object":
      if (value !== null) lookInside(value, place, depth, above);
  }
}

const shown = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

function lookInside(value: object, place: Place, depth: number, above: Set<object>): void {
  if (above.has(value)) throw refusal(place, "a cycle");
  if (depth > MAX_DEPTH) throw tooNested(place);
  above.add(value);
  for (const [step, part] of partsOf(value, place)) look(part, { parent: place, step }, depth + 1, above);
  above.delete(value);
}

function partsOf(value: object, place: Place): Iterable<readonly [string | number, unknown]> {
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  if (value instanceof Set) return [...value].map((item, index) => [`(item ${index})`, item] as const);
  if (value instanceof Map)
    return [...value].flatMap(
      ([key, item], index) =>
        [
          [`(key ${index})`, key],
          [`(value ${index})`, item],
        ] as const,
    );
  if (value instanceof Uint8Array && !Buffer.isBuffer(value)) return [];
  if (types.isRegExp(value)) return [];
  const { lc_serializable, lc_kwargs, toJSON } = value as {
    lc_serializable?: unknown;
    lc_kwargs?: unknown;
    toJSON?: unknown;
  };
  if (lc_serializable === true && typeof toJSON === "function" && typeof lc_kwargs === "object" && lc_kwargs !== null) {
    const kwargs = (toJSON.call(value) as { kwargs?: object }).kwargs;
    if (kwargs === undefined)
      throw refusal(place, `${describeInstance(value)}, which says that it cannot be serialised`);
    return Object.entries(kwargs);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof toJSON === "function" || (prototype !== Object.prototype && prototype !== null)) {
    throw refusal(place, `${describeInstance(value)} inside an instance of a LangChain class`);
  }
  if ((value as { lc?: unknown }).lc === 2)
    throw refusal(place, 'an object with "lc": 2, which LangGraph\'s serialiser takes for its own,');
  return Object.entries(value);
}
