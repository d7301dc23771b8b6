import { type ErrorCode, StateError } from "../errors.ts";

/**
 * What every facet of a storage offers, whether it keeps threads, items or
 * vectors: enough to call it, to report its failures and to close it. The
 * operations are in the facet's own contract (`ThreadLog`, `StoreDriver`).
 */
export interface Driver {
  /** The word that errors begin with: "sqlite". */
  readonly name: string;

  /** Passwords and tokens that this driver was given. They are removed from every error. */
  readonly secrets?: readonly string[];

  /**
   * Makes contact, for a driver that learns its capabilities from the storage; else
   * there is nothing to do. Called before the first operation and again until it
   * succeeds. Throws if the storage cannot be reached or refuses. The caller never
   * runs two at once.
   */
  connect(): Promise<void>;

  /** The code for an error of the client, or `undefined` if the driver does not know it. */
  classify(error: unknown): ErrorCode | undefined;

  /**
   * Makes deleted or replaced data unreadable in the storage's own files, as far
   * as the driver can, and says what its operator still has to do.
   */
  scrub(): Promise<ScrubReport>;

  /**
   * Frees what the driver opened itself; a client that was handed in stays open.
   * Later calls reject. May be called twice.
   */
  close(): Promise<void>;
}

/** What a driver of any facet inherits until it has something of its own. */
export abstract class BaseDriver implements Partial<Driver> {
  async connect(): Promise<void> {}

  async scrub(): Promise<ScrubReport> {
    return NOT_SCRUBBED;
  }
}

/** The error of a method that the storage lacks. `capability` is the flag that says so beforehand. */
export const unsupported = (capability: string): StateError =>
  new StateError("UNSUPPORTED", `the storage cannot do this: it lacks the capability "${capability}"`, { capability });

/** The answer of a driver that cannot do this. */
export const NOT_SCRUBBED: ScrubReport = {
  done: [],
  remains: [
    "what the storage itself may keep of data that was replaced or deleted: its log, its backups, its free space",
  ],
};

/** What was done about the remains of deleted data, in sentences for the operator of the storage. */
export interface ScrubReport {
  readonly done: readonly string[];
  readonly remains: readonly string[];
}
