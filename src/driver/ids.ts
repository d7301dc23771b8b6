import { StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-builtins.ts";

/**
 * Ids are opaque: they are never normalised, joined or rewritten. Only the ids
 * described here are refused, on every backend.
 */
export const MAX_ID_BYTES = 1024;

/** The longest prefix that a service may put before a thread id, to keep tenants apart. */
export const MAX_TENANT_PREFIX_BYTES = 64;

/** The longest id that every driver accepts: a user's id behind such a prefix. */
export const MAX_THREAD_ID_BYTES: number = MAX_ID_BYTES + MAX_TENANT_PREFIX_BYTES;

const CONTROL = /[\u0000-\u001f\u007f]/u;
/** Nearly every id: one byte for each character, and nothing to refuse. */
const PRINTABLE_ASCII = /^[\u0020-\u007e]+$/;

export const assertThreadId = (id: unknown, maxBytes: number = MAX_ID_BYTES): void =>
  assertId(id, "thread id", maxBytes);
/** The limit for a prefix of thread ids, which leaves room for the longest user id. */
export const assertThreadPrefix = (prefix: unknown): void =>
  assertId(prefix, "prefix of thread ids", MAX_TENANT_PREFIX_BYTES);
export const assertCheckpointId = (id: unknown): void => assertId(id, "checkpoint id");
export const assertWriteId = (id: unknown): void => assertId(id, "write id");
export const assertSignalId = (id: unknown): void => assertId(id, "id of a signal");
/** A task of a graph. */
export const assertTaskId = (id: unknown): void => assertId(id, "task id");
/** The namespace of a graph's checkpoints; the root graph's is empty. */
export function assertCheckpointNs(ns: unknown): void {
  if (ns !== "") assertId(ns, "checkpoint namespace");
}
/** A lease's owner is a name for people to read. It is kept with every record, so it is as short as an id. */
export const assertOwner = (id: unknown): void => assertId(id, "owner of a lease");

/** The id of a person in the caller's own program. */
export const assertUserId = (id: unknown): void => assertId(id, "user id");
export const assertSessionId = (id: unknown, maxBytes: number = MAX_ID_BYTES): void =>
  assertId(id, "session id", maxBytes);

export const isId = (id: unknown): boolean => faultInId(id, MAX_ID_BYTES) === undefined;

function assertId(id: unknown, what: string, maxBytes: number = MAX_ID_BYTES): asserts id is string {
  const fault = faultInId(id, maxBytes);
  if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `the ${what} ${fault}`);
}

function faultInId(id: unknown, maxBytes: number): string | undefined {
  if (typeof id !== "string") return `must be a string, not ${id === null ? "null" : typeof id}`;
  if (id.length <= maxBytes && PRINTABLE_ASCII.test(id)) return undefined;
  if (id === "") return "must not be empty";
  // Two different lone surrogates have the same UTF-8 bytes, so most storage systems would treat them as one id.
  if (!id.isWellFormed()) return "must be well-formed Unicode: it holds half of a surrogate pair";
  if (CONTROL.test(id)) return `${JSON.stringify(id.slice(0, 80))} must not hold control characters`;
  const bytes = Buffer.byteLength(id);
  if (bytes > maxBytes) return `is ${bytes} bytes long; at most ${maxBytes} are taken`;
  return undefined;
}

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

/** The same for what is known by its id alone: clones of one machine, which draw alike, draw the same for the same content only. */
export const newIdFor = (content: Uint8Array): string =>
  nodeCrypto()
    .createHash("sha256")
    .update(newId())
    .update(content)
    .digest("hex")
    .slice(0, 2 * ID_BYTES);

/**
 * An id that is made here for a checkpoint ends with the position it was made for, such
 * as `4f0c…a1-2s`. A driver looks there first, and so needs no index of such ids. It is
 * a hint and proves nothing: a caller's own id may end the same way, and a record may
 * lie elsewhere. A driver that uses the hint compares the whole id with the one that it
 * finds there, and keeps every id that does not lead to its own record in an index.
 */
export const withHint = (id: string, seq: number): string => `${id}-${seq.toString(36)}`;

/** Whether the id leads to this position. */
export const isHintedAt = (id: string, seq: number): boolean => id.endsWith(`-${seq.toString(36)}`);

/** Written as `withHint` writes it, and of a length that a number can hold. */
const HINT = /-([1-9a-z][0-9a-z]{0,9})$/;

/** The position that an id leads to, if any: a whole number from 1, which may be beyond any thread's end. */
export function hintedSeq(id: string): number | undefined {
  const digits = HINT.exec(id)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 36);
}
