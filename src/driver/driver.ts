import type { ErrorCode } from "../errors.ts";

/**
 * What every facet of a storage has, whether it keeps threads, items or vectors:
 * enough to call it, to say what went wrong, and to let go of it. The operations
 * themselves are the facet's contract (`ThreadLog`, and others to come).
 */
export interface Driver {
  /** The word that errors begin with: "sqlite". */
  readonly name: string;

  /** Passwords and tokens this driver was given: no error shows them. */
  readonly secrets?: readonly string[];

  /**
   * Makes contact, for a driver that learns its capabilities from the storage.
   * Called before the first operation and again until it succeeded; throws where
   * the storage cannot be reached or refuses. The caller never runs two at once.
   */
  connect?(): Promise<void>;

  /** What kind of failure a client's error is, or `undefined` when it cannot tell. */
  classify(error: unknown): ErrorCode | undefined;

  /**
   * Makes what was deleted or replaced unreadable in the storage's own files, as
   * far as that can be done from here, and says what is left to others.
   */
  scrub?(): Promise<ScrubReport>;

  /** Frees what the driver opened itself; what was handed in stays open. Later calls reject. May be called twice. */
  close(): Promise<void>;
}

/** Of a driver that has no way to do so. */
export const NOT_SCRUBBED: ScrubReport = {
  done: [],
  remains: [
    "what the storage itself may keep of data that was replaced or deleted: its log, its backups, its free space",
  ],
};

/** What was done about the traces of data that is no longer there. Sentences for whoever runs the storage. */
export interface ScrubReport {
  readonly done: readonly string[];
  readonly remains: readonly string[];
}
