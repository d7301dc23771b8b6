import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/**
 * AES-256-GCM with a fresh key for every record: the key that is given is only
 * used to derive it, from a random salt. So one key may seal any number of
 * records, and the few boxes of one record have random nonces of their own.
 *
 * salt (16) · iv (12) · tag (16) · ciphertext
 *
 * `aad` says where the box belongs. It is not stored: the reader supplies it again,
 * and a box that was moved does not open.
 */

export const KEY_BYTES = 32;
const SALT_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = SALT_BYTES + IV_BYTES + TAG_BYTES;
const CIPHER = "aes-256-gcm";
/** Asking the system for random bytes for every box costs more than sealing a short one. */
const POOL_BOXES = 128;
let pool = Buffer.alloc(0);

function chance(bytes: number): Buffer {
  if (pool.byteLength < bytes) pool = randomBytes((SALT_BYTES + IV_BYTES) * POOL_BOXES);
  const taken = pool.subarray(0, bytes);
  pool = pool.subarray(bytes);
  return taken;
}

/** The last key that was derived from each, which goes with it: the boxes of one record have the same salt. */
const derived = new WeakMap<Uint8Array, { readonly salt: Buffer; readonly key: Buffer }>();

function boxKey(key: Uint8Array, salt: Uint8Array): Buffer {
  const known = derived.get(key);
  if (known?.salt.equals(salt)) return known.key;
  const own = createHmac("sha256", key).update("holdfast box 1").update(salt).digest();
  derived.set(key, { salt: Buffer.from(salt), key: own });
  return own;
}

/** For boxes that are sealed together. Each still has a nonce of its own, so few of them may share a salt. */
export const newSalt = (): Uint8Array => chance(SALT_BYTES);

export const sealBox = (key: Uint8Array, plain: Uint8Array, aad: Uint8Array, salt: Uint8Array = newSalt()): Buffer =>
  sealPieces(key, [plain], aad, salt);

/** The same for content in pieces. The box stands behind `lead`: a large one is put together once. */
export function sealPieces(
  key: Uint8Array,
  pieces: readonly Uint8Array[],
  aad: Uint8Array,
  salt: Uint8Array,
  lead: readonly Uint8Array[] = [],
): Buffer {
  const iv = chance(IV_BYTES);
  const cipher = createCipheriv(CIPHER, boxKey(key, salt), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad);
  const sealed = pieces.map((piece) => cipher.update(piece));
  const last = cipher.final();
  return Buffer.concat([...lead, salt, iv, cipher.getAuthTag(), ...sealed, last]);
}

/** `undefined` if the box was not sealed with this key for this place. */
export function openBox(key: Uint8Array, box: Uint8Array, aad: Uint8Array): Buffer | undefined {
  if (box.byteLength < HEAD_BYTES) return undefined;
  const salt = box.subarray(0, SALT_BYTES);
  const iv = box.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
  const decipher = createDecipheriv(CIPHER, boxKey(key, salt), iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(box.subarray(SALT_BYTES + IV_BYTES, HEAD_BYTES));
  const plain = decipher.update(box.subarray(HEAD_BYTES));
  try {
    const last = decipher.final();
    return last.length === 0 ? plain : Buffer.concat([plain, last]);
  } catch {
    return undefined;
  }
}

/** One key from several: it cannot be computed without each of them, and their order does not matter. */
export function combinedKey(keys: readonly Uint8Array[]): Uint8Array {
  const [first = Buffer.alloc(0), ...others] = keys.toSorted(Buffer.compare);
  return others.reduce<Uint8Array>(
    (key, other) => createHmac("sha256", key).update("holdfast combined 1").update(other).digest(),
    first,
  );
}

/** An unambiguous encoding of names and numbers, each in quotes or without. A missing one becomes `null`. */
export const placeBytes = (parts: readonly (string | number | undefined | readonly string[])[]): Buffer =>
  Buffer.from(JSON.stringify(parts), "utf8");
