import type { Cipheriv } from "node:crypto";
import { nodeCrypto } from "../../internal/node-builtins.ts";

/**
 * XAES-256-GCM (c2sp.org/XAES-256-GCM) with nonces of 24 bytes, which are made from
 * randomness, the place and the plaintext together. With good randomness a nonce is
 * random. With bad randomness, such as that of two copies of one virtual machine, it
 * repeats only where the same text is sealed for the same place, and then the box is
 * the same box. One key may seal any number of boxes.
 *
 * nonce (24) · tag (16) · ciphertext
 *
 * `aad` says where the box belongs. It is not stored: the reader supplies it again,
 * and a box that was moved does not open.
 */

export const KEY_BYTES = 32;
const NONCE_BYTES = 24;
const TAG_BYTES = 16;
const RANDOM_BYTES = 16;
/** By which a box is told from every other: its nonce, its tag. */
export const HEAD_BYTES: number = NONCE_BYTES + TAG_BYTES;

/** A key with the name under which it is found again. */
export interface NamedKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/**
 * Randomness for the boxes of one record, or for a single box. It is taken when they
 * are sealed and kept nowhere: what lies ready is in every copy of the process, and a
 * nonce must not tell whether a guess of the text is right.
 */
export const newRandomness = (): Uint8Array => nodeCrypto().randomBytes(RANDOM_BYTES);

export function sealBox(
  key: Uint8Array,
  plain: Uint8Array,
  aad: Uint8Array,
  random: Uint8Array = newRandomness(),
): Buffer {
  const box = Buffer.allocUnsafe(HEAD_BYTES + plain.byteLength);
  sealInto(box, 0, key, plain, aad, random);
  return box;
}

/** Writes the box into `target`, where it has `HEAD_BYTES` more than its content. Returns where it ends. */
export function sealInto(
  target: Buffer,
  from: number,
  key: Uint8Array,
  plain: Uint8Array,
  aad: Uint8Array,
  random: Uint8Array,
): number {
  const prepared = preparedKey(key);
  const nonce = newNonce(prepared, plain, aad, random);
  const iv = nonce.subarray(DERIVING_BYTES, NONCE_BYTES);
  // Its tag has 16 bytes, as those of this mode have unless something else is asked for.
  const cipher = nodeCrypto().createCipheriv(CIPHER, keyOfNonce(prepared, nonce), iv);
  cipher.setAAD(aad);
  target.set(cipher.update(plain), from + HEAD_BYTES);
  // A stream cipher has nothing left at the end.
  cipher.final();
  nonce.copy(target, from, 0, NONCE_BYTES);
  target.set(cipher.getAuthTag(), from + NONCE_BYTES);
  return from + HEAD_BYTES + plain.byteLength;
}

/** `undefined` if the box was not sealed with this key for this place. */
export function openBox(key: Uint8Array, box: Uint8Array, aad: Uint8Array): Buffer | undefined {
  const prepared = preparedKey(key);
  if (box.byteLength < HEAD_BYTES) return undefined;
  const iv = box.subarray(DERIVING_BYTES, NONCE_BYTES);
  const decipher = nodeCrypto().createDecipheriv(CIPHER, keyOfNonce(prepared, box), iv, TAGGED);
  decipher.setAAD(aad);
  decipher.setAuthTag(box.subarray(NONCE_BYTES, HEAD_BYTES));
  const plain = decipher.update(box.subarray(HEAD_BYTES));
  try {
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}

const CIPHER = "aes-256-gcm";
const TAGGED = { authTagLength: TAG_BYTES };
const BLOCK_BYTES = 16;
/** The first part of a nonce derives the key of its box; the rest is that box's initialization vector. */
const DERIVING_BYTES = 12;

/** What every box of a key needs. */
interface PreparedKey {
  /** AES by blocks, each independent of the ones before. */
  readonly blocks: Cipheriv;
  /** The two blocks that derive the key of a box, but for its nonce. */
  readonly derivation: Uint8Array;
  /** For the nonces. */
  readonly nonces: Uint8Array;
}

/** It goes with the key. */
const preparedKeys = new WeakMap<Uint8Array, PreparedKey>();

function preparedKey(key: Uint8Array): PreparedKey {
  const known = preparedKeys.get(key);
  if (known !== undefined) return known;
  // Node would take any length for an HMAC, and an empty key protects nothing.
  if (key.byteLength !== KEY_BYTES) throw new TypeError(`a key has ${KEY_BYTES} bytes, and this one ${key.byteLength}`);
  const { createCipheriv, createHmac } = nodeCrypto();
  const blocks = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
  const subkey = doubled(blocks.update(Buffer.alloc(BLOCK_BYTES)));
  const derivation = Buffer.concat([subkey, subkey]);
  for (const [begin, counter] of [1, 2].entries()) {
    for (const [at, byte] of [0, counter, "X".charCodeAt(0), 0].entries()) {
      derivation.writeUInt8(derivation.readUInt8(begin * BLOCK_BYTES + at) ^ byte, begin * BLOCK_BYTES + at);
    }
  }
  const nonces = createHmac("sha256", key).update("holdfast nonces 1").digest();
  const made = { blocks, derivation, nonces };
  preparedKeys.set(key, made);
  return made;
}

/** As CMAC makes its subkeys: twice the block, as a number of its field. */
function doubled(block: Uint8Array): Uint8Array {
  const double = block.map((byte, at) => ((byte << 1) | ((block[at + 1] ?? 0) >> 7)) & 0xff);
  if (((block[0] ?? 0) & 0x80) !== 0) double[BLOCK_BYTES - 1] = (double[BLOCK_BYTES - 1] ?? 0) ^ 0x87;
  return double;
}

/** Filled anew for each box, because AES reads it at once. */
const filled = Buffer.alloc(2 * BLOCK_BYTES);

function keyOfNonce({ blocks, derivation }: PreparedKey, nonce: Uint8Array): Buffer {
  filled.set(derivation);
  for (let at = 0; at < DERIVING_BYTES; at++) {
    const [first, second] = [BLOCK_BYTES - DERIVING_BYTES + at, 2 * BLOCK_BYTES - DERIVING_BYTES + at];
    filled[first] = (filled[first] ?? 0) ^ (nonce[at] ?? 0);
    filled[second] = (filled[second] ?? 0) ^ (nonce[at] ?? 0);
  }
  return blocks.update(filled);
}

const LENGTH_BYTES = 4;
const BEGIN_BYTES = KEY_BYTES + RANDOM_BYTES + LENGTH_BYTES;
/** What most nonces are made from is put together here: one call for a hash costs far less than an object that collects. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

function newNonce({ nonces }: PreparedKey, plain: Uint8Array, aad: Uint8Array, random: Uint8Array): Buffer {
  const { createHash, hash } = nodeCrypto();
  scratch.set(nonces);
  scratch.set(random, KEY_BYTES);
  scratch.writeUInt32BE(aad.byteLength, KEY_BYTES + RANDOM_BYTES);
  const length = BEGIN_BYTES + aad.byteLength + plain.byteLength;
  if (length > scratch.byteLength) {
    return createHash("sha256").update(scratch.subarray(0, BEGIN_BYTES)).update(aad).update(plain).digest();
  }
  scratch.set(aad, BEGIN_BYTES);
  scratch.set(plain, BEGIN_BYTES + aad.byteLength);
  return hash("sha256", scratch.subarray(0, length), "buffer");
}

/** One key from several: it cannot be computed without each of them, and their order does not matter. */
export function combinedKey(keys: readonly NamedKey[]): Uint8Array {
  const [first, ...others] = keys.map(({ key }) => key).sort(Buffer.compare);
  if (first === undefined) throw new TypeError("there is no key without keys");
  return others.reduce(
    (key, other) => nodeCrypto().createHmac("sha256", key).update("holdfast combined 1").update(other).digest(),
    first,
  );
}

/** The key of a box that was sealed with these; `undefined` if one of them was destroyed. */
export function keyOfBox(
  ids: readonly string[],
  keys: ReadonlyMap<string, NamedKey | undefined>,
): Uint8Array | undefined {
  const own = ids.map((id) => {
    // Only a key whose destruction is known reads as erased.
    if (!keys.has(id)) throw new TypeError(`the key ${id} was not looked up`);
    return keys.get(id);
  });
  const left = own.filter((key) => key !== undefined);
  return left.length < own.length ? undefined : combinedKey(left);
}

/**
 * A new key for what has that name, out of randomness and the name: two processes whose
 * randomness is the same make different keys for different people, so that destroying a
 * person's key leaves no copy of it under another's name.
 */
export const newKey = (place: Uint8Array): Buffer =>
  nodeCrypto().createHmac("sha256", nodeCrypto().randomBytes(KEY_BYTES)).update(place).digest();

/** An unambiguous encoding of names and numbers, each in quotes or without. A missing one becomes `null`. */
export const placeBytes = (parts: readonly (string | number | undefined | readonly string[])[]): Buffer =>
  Buffer.from(JSON.stringify(parts), "utf8");
