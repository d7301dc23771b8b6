import type { CipherGCM, KeyObject } from "node:crypto";
import { nodeCrypto } from "../internal/node-crypto.ts";

/**
 * Ciphers that were made before they are needed. Most of what a short box costs is
 * making its cipher, and most of that is waiting for memory that nothing else in a
 * save touches: several in a row cost little more than one.
 */

export const CIPHER = "aes-256-gcm";
export const IV_BYTES = 12;

/** For one box: its nonce is never used again. */
export interface ReadyCipher {
  readonly cipher: CipherGCM;
  readonly iv: Uint8Array;
}

/** The ciphers of one of the keys that were used last. */
interface Stock {
  readonly key: KeyObject;
  readonly ready: ReadyCipher[];
  /** How often there was none. */
  misses: number;
}

/** A tenant's key and those of a few people. What many keys would have in stock is thrown away unused. */
const MOST_STOCKS = 4;
/** A key that was used so often while others were not is likely to be used again. */
const MISSES = 6;
const STOCK = 16;
let stocks: Stock[] = [];

export function cipherFor(key: KeyObject): ReadyCipher {
  const stock = stockOf(key);
  const ready = stock.ready.pop();
  if (ready !== undefined) return ready;
  if (++stock.misses < MISSES) return newCipher(key);
  stock.misses = MISSES;
  for (let made = 0; made < STOCK; made++) stock.ready.push(newCipher(key));
  return newCipher(key);
}

/** Forgets every key that is kept with them. */
export function forgetReadyCiphers(): void {
  stocks = [];
}

/** The last one is that of the key that was used last. */
function stockOf(key: KeyObject): Stock {
  const at = stocks.findIndex((each) => each.key === key);
  const stock = stocks[at] ?? { key, ready: [], misses: 0 };
  if (at === stocks.length - 1 && at >= 0) return stock;
  if (at >= 0) stocks.splice(at, 1);
  else if (stocks.length === MOST_STOCKS) stocks.shift();
  stocks.push(stock);
  return stock;
}

function newCipher(key: KeyObject): ReadyCipher {
  const iv = newNonce();
  // Its tag has 16 bytes, as those of this mode have unless something else is asked for.
  return { cipher: nodeCrypto().createCipheriv(CIPHER, key, iv), iv };
}

/** Asking the system for random bytes for every box costs more than sealing a short one. */
const POOL_BOXES = 256;
let pool = Buffer.alloc(0);
let taken = 0;

function newNonce(): Buffer {
  if (taken >= pool.byteLength) {
    pool = nodeCrypto().randomBytes(IV_BYTES * POOL_BOXES);
    taken = 0;
  }
  taken += IV_BYTES;
  return pool.subarray(taken - IV_BYTES, taken);
}
