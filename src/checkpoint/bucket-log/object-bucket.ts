import type { ScrubReport } from "../../driver/driver.ts";

/**
 * What a log needs from an object store: a few operations and one guarantee. Of
 * several PUTs to one name that race with `If-Match` or `If-None-Match: *`,
 * exactly one succeeds and the others are refused. Only a missing object is an
 * answer; every other failure is thrown as the client threw it.
 */
export interface ObjectBucket {
  get(name: string): Promise<FoundObject | undefined>;

  /** The new ETag; `undefined` if the condition fails, also because the object to match is absent. */
  put(name: string, bytes: Buffer, condition: Condition): Promise<string | undefined>;

  /** Deleting an absent object succeeds. */
  delete(name: string): Promise<void>;

  /**
   * Deletes the object if it still has this ETag. Never ask a store that ignores
   * the condition: leave the object and return `false`.
   */
  deleteIf(name: string, etag: string): Promise<boolean>;

  /** Names below a prefix, page by page to the end, in the order of their bytes. */
  list(options: ListOptions): AsyncIterable<readonly string[]>;

  /**
   * Deletes what a bucket with versions keeps of objects below a prefix that were
   * overwritten or deleted, and says what could not be deleted. Never what is
   * there now, and never a mark of a deletion: the object would come back. Without
   * it, older versions stay.
   */
  deleteOlderVersions?(prefix: string): Promise<ScrubReport>;

  /** Whether a PUT that failed with this error may have succeeded all the same. */
  mayHaveWritten(error: unknown): boolean;
}

export interface FoundObject {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** The condition of a PUT. */
export type Condition = { readonly ifMatch: string } | { readonly ifNoneMatch: "*" };

export interface ListOptions {
  readonly prefix: string;
  readonly startAfter?: string;
  /** Names from here on are left out. */
  readonly end?: string;
  /** Returns the common prefixes up to this delimiter instead of the names. */
  readonly delimiter?: "/";
  readonly limit?: number;
}
