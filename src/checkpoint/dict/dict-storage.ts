import type { JsonValue } from "../../state/values/codec.ts";

/** Plain JSON: strings, numbers, lists and objects. The order of an object's keys means nothing. */
export type DictData = { readonly [key: string]: JsonValue };

/**
 * A storage that keeps JSON objects under keys. Many systems are one, and writing
 * one takes an afternoon. `StorageBackendAdapter` makes a checkpointer of it.
 *
 * Duties of all methods. Keys consist of letters a–z, digits and "-", at most 100
 * characters. A failure throws; it never looks like "absent" or "done". A `load`
 * after a returned `save` sees that save, in every process.
 */
export interface DictStorage {
  /** Stores `data` under `key`, replacing what was there, whole or not at all. `data` is never changed afterwards. */
  save(key: string, data: DictData): Promise<unknown>;

  /** An object equal to what was saved; `undefined` or `null` if there is nothing, and only then. */
  load(key: string): Promise<object | undefined | null>;

  /** Removes the key. A key that was not there is not a failure. */
  delete(key: string): Promise<unknown>;

  /** Part of the usual shape; never called, because `load` tells the same. */
  exists?(key: string): Promise<boolean>;

  /** Every key that begins with `prefix`, all of them, in any order. Without it, threads cannot be listed. */
  list?(prefix: string): AsyncIterable<string> | Promise<Iterable<string> | AsyncIterable<string>>;

  /**
   * Replaces `expected` by `data`, atomically with respect to every process.
   * Returns false and changes nothing if something else is there. `undefined`
   * stands for "nothing" on both sides: as `expected` the key must be absent, as
   * `data` it is removed. `expected` is always the very object that `load`
   * returned, so a version may be remembered for it; otherwise it is compared by
   * value. Without this method two processes that write one thread overwrite each
   * other, and `capabilities.conditionalSave` is false.
   */
  compareAndSave?(key: string, expected: object | undefined, data: DictData | undefined): Promise<boolean>;

  /** Called once, by the checkpointer's `close()`. */
  close?(): Promise<unknown>;
}

const REQUIRED = ["save", "load", "delete"] as const;
const OPTIONAL = ["exists", "list", "compareAndSave", "close"] as const;

/** Refuses at construction what would otherwise fail at the first save, hours later. */
export function assertDictStorage(value: unknown): asserts value is DictStorage {
  const takes = "StorageBackendAdapter takes a storage object with the methods save, load and delete";
  if (typeof value === "function") throw new TypeError(`${takes}, not a class or function; construct or call it first`);
  if (typeof value !== "object" || value === null) throw new TypeError(`${takes}, not ${shown(value)}`);
  const methods = value as Readonly<Record<string, unknown>>;
  const missing = REQUIRED.filter((name) => typeof methods[name] !== "function");
  if (missing.length > 0) throw new TypeError(`${takes}; this one lacks ${missing.join(" and ")}`);
  const wrong = OPTIONAL.filter((name) => methods[name] !== undefined && typeof methods[name] !== "function");
  if (wrong.length > 0) throw new TypeError(`${takes}; its ${wrong.join(" and ")} must be a method or missing`);
}

const shown = (value: unknown): string => (value === null ? "null" : `a value of type ${typeof value}`);
