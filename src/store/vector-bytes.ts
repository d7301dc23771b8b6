import { endianness } from "node:os";

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
