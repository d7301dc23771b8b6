import { nodeCrypto } from "../internal/node-builtins.ts";

const ID_BYTES = 12;
const pool = Buffer.alloc(ID_BYTES * 128);
let used = pool.length;

/**
 * 96 random bits, in characters that are safe in a file name, a URL, a key and on
 * a command line. They come from a pool, because one call for randomness per id
 * would cost a save more than the rest of the id.
 */
export function newId(): string {
  if (used === pool.length) {
    nodeCrypto().randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString("hex", used - ID_BYTES, used);
}
