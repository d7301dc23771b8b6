import { nodeCrypto } from "../internal/node-crypto.ts";

/**
 * AES-256-GCM with keys that serve for few records: the key that is given is only
 * used to derive them, each from a random salt, which a process uses for at most
 * `USES_OF_A_SALT` records. So one key may seal any number of records, and every
 * box has a random nonce of its own, of which far too few share a key to meet.
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
const POOL_BOXES = 256;
let pool = Buffer.alloc(0);

function newNonce(): Buffer {
  if (pool.byteLength < IV_BYTES) pool = nodeCrypto().randomBytes(IV_BYTES * POOL_BOXES);
  const taken = pool.subarray(0, IV_BYTES);
  pool = pool.subarray(IV_BYTES);
  return taken;
}

interface DerivedKey {
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** The keys that were last derived from each, which go with it, the newest first. */
const derived = new WeakMap<Uint8Array, DerivedKey[]>();
/** As many as there are processes that write the records of one thread, and more. */
const DERIVED_KEYS = 8;

/** Deriving a key costs as much as sealing a short box. */
function boxKey(key: Uint8Array, salt: Uint8Array): Buffer {
  const known = derived.get(key) ?? [];
  const found = known.find((each) => each.salt.equals(salt));
  if (found !== undefined) return found.key;
  const own = nodeCrypto().createHmac("sha256", key).update("holdfast box 1").update(salt).digest();
  derived.set(key, [{ salt: Buffer.from(salt), key: own }, ...known.slice(0, DERIVED_KEYS - 1)]);
  return own;
}

const USES_OF_A_SALT = 1024;
let currentSalt: Uint8Array = Buffer.alloc(0);
let usesLeft = 0;

/** For the boxes of one record, or for a single box. */
export function newSalt(): Uint8Array {
  if (usesLeft === 0) {
    currentSalt = nodeCrypto().randomBytes(SALT_BYTES);
    usesLeft = USES_OF_A_SALT;
  }
  usesLeft--;
  return currentSalt;
}

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
  const iv = newNonce();
  const cipher = nodeCrypto().createCipheriv(CIPHER, boxKey(key, salt), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad);
  const sealed = joined(pieces).map((piece) => cipher.update(piece));
  // A stream cipher has nothing left at the end.
  cipher.final();
  return Buffer.concat([...lead, salt, iv, cipher.getAuthTag(), ...sealed]);
}

/** Copying a little costs less than another call of the cipher. */
const COPIED_BYTES = 8192;

const joined = (pieces: readonly Uint8Array[]): readonly Uint8Array[] =>
  pieces.length > 1 && pieces.reduce((sum, { byteLength }) => sum + byteLength, 0) <= COPIED_BYTES
    ? [Buffer.concat(pieces)]
    : pieces;

/** `undefined` if the box was not sealed with this key for this place. */
export function openBox(key: Uint8Array, box: Uint8Array, aad: Uint8Array): Buffer | undefined {
  if (box.byteLength < HEAD_BYTES) return undefined;
  const salt = box.subarray(0, SALT_BYTES);
  const iv = box.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
  const decipher = nodeCrypto().createDecipheriv(CIPHER, boxKey(key, salt), iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(box.subarray(SALT_BYTES + IV_BYTES, HEAD_BYTES));
  const plain = decipher.update(box.subarray(HEAD_BYTES));
  try {
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}

/** One key from several: it cannot be computed without each of them, and their order does not matter. */
export function combinedKey(keys: readonly Uint8Array[]): Uint8Array {
  const [first = Buffer.alloc(0), ...others] = keys.toSorted(Buffer.compare);
  return others.reduce<Uint8Array>(
    (key, other) => nodeCrypto().createHmac("sha256", key).update("holdfast combined 1").update(other).digest(),
    first,
  );
}

/** An unambiguous encoding of names and numbers, each in quotes or without. A missing one becomes `null`. */
export const placeBytes = (parts: readonly (string | number | undefined | readonly string[])[]): Buffer =>
  Buffer.from(JSON.stringify(parts), "utf8");
