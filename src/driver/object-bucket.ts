/**
 * The contract with a storage that knows nothing but names: an object store, a
 * table of keys and values, a dictionary. Whatever has a conditional write can
 * keep threads and items in it, without locks and without transactions. `testBucket` of
 * `holdfast/conformance` proves the duties.
 *
 * Common duties. Names are 1 to 1024 bytes of letters, digits and `. _ ~ / -`, at most
 * 200 of them between two slashes, and none is another's folder (`a` beside `a/b`):
 * that is what storages take that keep objects as files. Two different names never
 * share a place, also where they differ in upper and lower case only. Every answer is of now: a `get` or a `list` that begins after a
 * write returned sees it, in every process. Only "not there" is an answer; every
 * other failure is thrown as the client threw it, and nothing is retried: callers
 * know whether that is safe. Every call ends, within a limit that the bucket sets.
 */

import { type ErrorCode, StateError } from "../errors.ts";
import { lateAfter, untilAborted } from "../internal/time.ts";
import { NOT_SCRUBBED, type ScrubReport } from "./driver.ts";
import type { Durability } from "./durability.ts";

export interface ObjectBucket {
  /** The largest object that `put` takes, in bytes. Callers split what is larger; `Infinity` where that is never needed. */
  readonly maxObjectBytes: number;

  /** The object whole, as of one moment, and its version; `undefined` if there is none. */
  get(name: string): Promise<FoundObject | undefined>;

  /**
   * Writes the object whole or not at all, if `expected` is still its version;
   * `undefined` stands for "there is no such object". Returns the new version, or
   * `undefined` if the condition does not hold: then nothing was written. Of
   * several writes that race with one version, exactly one succeeds. Writes of
   * different bytes never have one version, also after the object was deleted and
   * created again; of equal bytes they may, so callers write something unique into
   * each object that changes. Once it returned, it is as durable as the source says.
   */
  put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined>;

  /** Deletes the object, whatever its version. That there is none is no failure. */
  delete(name: string): Promise<void>;

  /**
   * Deletes the object if it still has this version, as atomically as `put`; that
   * there is none is a success. `false` if it has another one, and always where
   * the storage cannot promise it: the object then stays.
   */
  deleteIf(name: string, version: string): Promise<boolean>;

  /**
   * Every name that begins with `prefix`, page by page, in the order of their bytes. A name
   * that is there during the whole walk is met exactly once, whatever else comes and goes.
   */
  list(options: BucketListOptions): AsyncIterable<readonly string[]>;

  /**
   * Deletes what the storage itself keeps of objects below a prefix that were
   * overwritten or deleted, and says what could not be deleted. Never what is
   * there now, and never a mark of a deletion: the object would come back.
   */
  deleteOlderVersions(prefix: string): Promise<ScrubReport>;

  /** Whether a `put` that failed with this error may have written all the same: its answer was lost. */
  mayHaveWritten(error: unknown): boolean;

  /** Frees what was opened for it; a client that was handed in stays open. */
  close(): Promise<void>;
}

export interface FoundObject {
  readonly bytes: Buffer;
  /** Compared by nothing but equality. */
  readonly version: string;
}

export interface BucketListOptions {
  readonly prefix: string;
  /** Only names behind it. */
  readonly startAfter?: string;
  /** Only names before it. */
  readonly end?: string;
  /** About how many names are asked for at a time. The list still runs to its end. */
  readonly pageSize?: number;
}

/** What a bucket inherits until it has something of its own. */
export abstract class BaseObjectBucket implements Partial<ObjectBucket> {
  readonly maxObjectBytes: number = Number.POSITIVE_INFINITY;

  async deleteIf(_name: string, _version: string): Promise<boolean> {
    return false;
  }

  async deleteOlderVersions(_prefix: string): Promise<ScrubReport> {
    return NOT_SCRUBBED;
  }

  /** To ask once more is a matter of milliseconds, and to be wrong about it is a lost write. */
  mayHaveWritten(_error: unknown): boolean {
    return true;
  }

  async close(): Promise<void> {}
}

/** What a backend states about its bucket before it is reached, for any driver that stands on one. */
export interface BucketSource {
  /** The word that errors begin with: "s3". */
  readonly name: string;
  /** Passwords and tokens that are removed from every error. */
  readonly secrets?: readonly string[];
  /** What a `put` that returned survives. */
  readonly durability: Durability;
  /** Whether `put` and `deleteIf` keep to their conditions against every process, and not in this one alone. @default true */
  readonly conditional?: boolean;
  /** Whether the bucket can be listed. One that cannot takes objects of any size. @default true */
  readonly lists?: boolean;
  /** The largest record. @default 67108864 */
  readonly maxRecordBytes?: number;
  /** Called once, on first use; again after it failed. */
  open(): Promise<ObjectBucket>;
  /** The code for an error of the client, or `undefined` for one that is not the client's. */
  classify(error: unknown): ErrorCode | undefined;
}

/** Runs one request and gives up at the deadline, which includes reading the answer. */
export async function answerWithin<T>(ms: number, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController();
  const late = new StateError("TIMEOUT", `no answer within ${ms} ms`);
  const stop = lateAfter(ms, () => deadline.abort(late));
  try {
    return await untilAborted(request(deadline.signal), deadline.signal);
  } finally {
    stop();
  }
}

/** The version of an object in a store that speaks HTTP. */
export function etagOf(etag: string | undefined): string {
  if (etag !== undefined && etag !== "") return etag;
  throw new StateError("UNAVAILABLE", "the storage answered without an ETag: something on the way takes headers out");
}
