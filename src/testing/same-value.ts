import assert from "node:assert/strict";

/**
 * Asserts that two values cannot be told apart: type, prototype, the order of
 * keys, -0, NaN, invalid dates. It shares nothing with the codec it is there to
 * check; `assert.deepEqual` would let the order of keys pass.
 */
export function assertSame(actual: unknown, expected: unknown, what: string): void {
  const difference = differenceOf(actual, expected, what);
  assert.equal(difference, undefined, difference);
}

function differenceOf(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  if (typeof actual !== "object" || typeof expected !== "object" || actual === null || expected === null) {
    return `${path}: got ${shown(actual)}, expected ${shown(expected)}`;
  }
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) {
    return `${path}: is ${kindOf(actual)}, expected ${kindOf(expected)}`;
  }
  if (actual instanceof Date) return differenceOf(actual.getTime(), (expected as Date).getTime(), `${path} (time)`);
  if (actual instanceof Uint8Array) return differenceOfBytes(actual, expected as Uint8Array, path);
  const [found, wanted] = [partsOf(actual), partsOf(expected)];
  if (found.length !== wanted.length) return `${path}: has ${found.length} parts, expected ${wanted.length}`;
  for (const [index, [step, part]] of wanted.entries()) {
    const [foundStep, foundPart] = found[index] ?? [];
    const at = `${path}[${shown(step)}]`;
    const difference = differenceOf(foundStep, step, `${at} (key)`) ?? differenceOf(foundPart, part, at);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function differenceOfBytes(actual: Uint8Array, expected: Uint8Array, path: string): string | undefined {
  if (actual.byteLength !== expected.byteLength) {
    return `${path}: ${actual.byteLength} bytes, expected ${expected.byteLength}`;
  }
  const at = expected.findIndex((byte, index) => byte !== actual[index]);
  return at === -1 ? undefined : `${path}: byte ${at} is ${actual[at]}, expected ${expected[at]}`;
}

/** The keys and values inside, in their order. */
function partsOf(value: object): readonly (readonly [unknown, unknown])[] {
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value].map((item, index) => [index, item] as const);
  return Reflect.ownKeys(value).map((key) => [key, (value as Record<PropertyKey, unknown>)[key]] as const);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  return typeof value === "object" && value !== null ? kindOf(value) : String(value);
}

const kindOf = (value: object): string =>
  Object.getPrototypeOf(value) === null ? "an object without a prototype" : `a ${value.constructor.name}`;
