import { randomBytes } from "node:crypto";

const ID_BYTES = 12;
let pool = Buffer.alloc(0);

/**
 * 96 random bits, in characters that are safe in a file name, a URL, a key and on
 * a command line. They come from a pool, because one call for randomness per id
 * would cost a save more than the rest of the id.
 */
export function newId(): string {
  if (pool.byteLength < ID_BYTES) pool = randomBytes(ID_BYTES * 128);
  const id = pool.toString("hex", 0, ID_BYTES);
  pool = pool.subarray(ID_BYTES);
  return id;
}
