import type { ScrubReport } from "../../driver/driver.ts";

/**
 * What a log on an object store needs from the store: few operations, and one
 * promise. Of several PUTs to one name that race with `If-Match` or
 * `If-None-Match: *`, one takes place and the others are refused. Only a missing
 * object is an answer; every other failure is thrown as the client threw it.
 */
export interface ObjectBucket {
  get(name: string): Promise<FoundObject | undefined>;

  /** The new ETag; `undefined` when the condition does not hold, which includes an object to match that is absent. */
  put(name: string, bytes: Buffer, condition: Condition): Promise<string | undefined>;

  /** Absent objects are deleted already. */
  delete(name: string): Promise<void>;

  /**
   * Deletes the object if it still has this ETag. A store that ignores the
   * condition must not be asked to delete: leave the object, and say `false`.
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

  /** Whether a PUT that failed like this may have taken place all the same. */
  mayHaveWritten(error: unknown): boolean;
}

export interface FoundObject {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** When a PUT is to take place. */
export type Condition = { readonly ifMatch: string } | { readonly ifNoneMatch: "*" };

export interface ListOptions {
  readonly prefix: string;
  readonly startAfter?: string;
  /** Names from here on are left out. */
  readonly end?: string;
  /** Gives what the names have in common up to this, instead of the names. */
  readonly delimiter?: "/";
  readonly limit?: number;
}
