import type { KeyObject } from "node:crypto";
import { nodeCrypto } from "../internal/node-crypto.ts";
import { CIPHER, cipherFor, IV_BYTES } from "./ready-ciphers.ts";

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
const TAG_BYTES = 16;
/** By which a box is told from every other: its salt, its nonce, its tag. */
export const HEAD_BYTES: number = SALT_BYTES + IV_BYTES + TAG_BYTES;
const TAGGED = { authTagLength: TAG_BYTES };
interface DerivedKey {
  readonly salt: Uint8Array;
  readonly box: KeyObject;
}

interface KnownKey {
  readonly own: KeyObject;
  /** The keys that were last derived from it, the newest first. */
  derived: readonly DerivedKey[];
}

/** What was derived from each key goes with it. */
const known = new WeakMap<Uint8Array, KnownKey>();
/** As many as there are processes that write the records of one thread, and more. */
const DERIVED_KEYS = 8;

/** Deriving a key costs more than sealing a short box. Key objects, because Node makes one from bytes for every cipher. */
function derivedKey(key: Uint8Array, salt: Uint8Array): DerivedKey {
  let from = known.get(key);
  const newest = from?.derived[0];
  if (newest?.salt === salt) return newest;
  if (from === undefined) {
    from = { own: nodeCrypto().createSecretKey(key), derived: [] };
    known.set(key, from);
  }
  const found = from.derived.find((each) => Buffer.compare(each.salt, salt) === 0);
  if (found !== undefined) return found;
  // A salt that was read is part of something larger, which must not be kept with it.
  const own = salt === currentSalt ? salt : Uint8Array.from(salt);
  const made = { salt: own, box: derive(from.own, salt) };
  from.derived = [made, ...from.derived.slice(0, DERIVED_KEYS - 1)];
  return made;
}

const derive = (from: KeyObject, salt: Uint8Array): KeyObject =>
  nodeCrypto().createSecretKey(nodeCrypto().createHmac("sha256", from).update("holdfast box 1").update(salt).digest());

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

export function sealBox(key: Uint8Array, plain: Uint8Array, aad: Uint8Array, salt: Uint8Array = newSalt()): Buffer {
  const box = Buffer.allocUnsafe(HEAD_BYTES + plain.byteLength);
  sealInto(box, 0, key, plain, aad, salt);
  return box;
}

/** Writes the box into `target`, where it has `HEAD_BYTES` more than its content. Returns where it ends. */
export function sealInto(
  target: Buffer,
  from: number,
  key: Uint8Array,
  plain: Uint8Array,
  aad: Uint8Array,
  salt: Uint8Array,
): number {
  const { cipher, iv } = cipherFor(derivedKey(key, salt).box);
  cipher.setAAD(aad);
  target.set(cipher.update(plain), from + HEAD_BYTES);
  // A stream cipher has nothing left at the end.
  cipher.final();
  target.set(salt, from);
  target.set(iv, from + SALT_BYTES);
  target.set(cipher.getAuthTag(), from + SALT_BYTES + IV_BYTES);
  return from + HEAD_BYTES + plain.byteLength;
}

/** `undefined` if the box was not sealed with this key for this place. */
export function openBox(key: Uint8Array, box: Uint8Array, aad: Uint8Array): Buffer | undefined {
  if (box.byteLength < HEAD_BYTES) return undefined;
  const salt = box.subarray(0, SALT_BYTES);
  const iv = box.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
  const decipher = nodeCrypto().createDecipheriv(CIPHER, derivedKey(key, salt).box, iv, TAGGED);
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
  const [first = Buffer.alloc(0), ...others] = keys.length > 1 ? keys.toSorted(Buffer.compare) : keys;
  return others.reduce<Uint8Array>(
    (key, other) => nodeCrypto().createHmac("sha256", key).update("holdfast combined 1").update(other).digest(),
    first,
  );
}

/** An unambiguous encoding of names and numbers, each in quotes or without. A missing one becomes `null`. */
export const placeBytes = (parts: readonly (string | number | undefined | readonly string[])[]): Buffer =>
  Buffer.from(JSON.stringify(parts), "utf8");
