import { endianness } from "node:os";
import { invalid } from "../../driver/options.ts";
import { described } from "../../internal/known-options.ts";

/** Longer than any model's; a longer one is a mistake. */
export const MAX_DIMENSION = 16_000;

/** Storages multiply with single precision: beyond these, products are infinite or zero, and a vector is never found. */
const SHORTEST = 1e-15;
const LONGEST = 1e15;

/**
 * A single-precision copy of a vector. The one place that refuses NaN, infinities
 * and lengths that no model gives: storages differ in what they do with them.
 */
export function checkedVector(given: unknown, what: string, dimension: number | undefined): Float32Array {
  if (!Array.isArray(given) && !(given instanceof Float32Array) && !(given instanceof Float64Array)) {
    throw invalid(`${what} must be a list of numbers, not ${described(given)}`);
  }
  if (dimension !== undefined && given.length !== dimension) {
    throw invalid(`${what} has ${given.length} numbers; vectors of this store have ${dimension}`);
  }
  if (given.length === 0 || given.length > MAX_DIMENSION) {
    throw invalid(`${what} has ${given.length} numbers; 1 to ${MAX_DIMENSION} are taken`);
  }
  const vector = new Float32Array(given.length);
  for (let index = 0; index < given.length; index++) {
    const number: unknown = given[index];
    if (typeof number !== "number") throw invalid(`${what}[${index}] is ${described(number)}, not a number`);
    vector[index] = number;
    // Also what is finite only with double precision.
    if (!Number.isFinite(vector[index])) throw invalid(`${what}[${index}] is ${number}; only finite numbers are taken`);
  }
  const length = norm(vector);
  if (!(length > 0)) throw invalid(`${what} is all zeros, and so has no direction`);
  if (length < SHORTEST || length > LONGEST) {
    throw invalid(
      `${what} has the length ${length.toPrecision(3)}; from ${SHORTEST} to ${LONGEST} are taken. Divide it by its length: only its direction counts`,
    );
  }
  return vector;
}

/** The length of a vector. Double precision: the squares of single ones need it. */
export function norm(vector: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index++) sum += (vector[index] as number) ** 2;
  return Math.sqrt(sum);
}

/** Of unit vectors, the cosine. Four sums at once, because each addition waits for the one before it. */
export function dot(a: Float32Array, b: Float32Array, from = 0): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  const length = a.length;
  const even = length - (length % 4);
  for (let index = 0; index < even; index += 4) {
    s0 += (a[index] as number) * (b[from + index] as number);
    s1 += (a[index + 1] as number) * (b[from + index + 1] as number);
    s2 += (a[index + 2] as number) * (b[from + index + 2] as number);
    s3 += (a[index + 3] as number) * (b[from + index + 3] as number);
  }
  for (let index = even; index < length; index++) s0 += (a[index] as number) * (b[from + index] as number);
  return s0 + s1 + s2 + s3;
}

/** From -1 to 1. Rounding does not get it out of there. */
export const cosine = (a: Float32Array, b: Float32Array, norms: number): number =>
  Math.max(-1, Math.min(1, dot(a, b) / norms));

/**
 * Vectors as bytes, as they lie in files and tables: four little-endian bytes a
 * number, on every machine.
 */
export function vectorToBytes(vector: Float32Array): Uint8Array {
  const bytes = Buffer.from(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
  return IS_LITTLE_ENDIAN ? bytes : bytes.swap32();
}

export function vectorFromBytes(given: Uint8Array): Float32Array {
  // A copy: the given bytes may lie at an odd place of a larger buffer, and may be used again by their owner.
  const bytes = Buffer.from(new Uint8Array(given).buffer);
  if (!IS_LITTLE_ENDIAN) bytes.swap32();
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

const IS_LITTLE_ENDIAN = endianness() === "LE";
