import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";

/**
 * What has to be known about a thread before one of its records can be judged. People are named by their keys.
 */
export interface ThreadPeople {
  /** Who the thread as a whole is about, or was at some time. */
  readonly defaults: readonly string[];
  /**
   * The other people named anywhere in it: what may quote any of them is sealed for them as
   * well.
   */
  readonly named: readonly string[];
  /**
   * The owners of the calls that were asked for and not answered yet; in a thread with people, an empty list for a call
   * without an owner.
   */
  readonly calls: Readonly<Record<string, readonly string[]>>;
  /** The metadata of a record that is not taken apart, such as a graph's, named a subject: no index may hold what follows. */
  readonly isUnlisted?: true;
  /** Every record below this position was removed: what lies there was put back. */
  readonly floor?: number;
}

export const NO_PEOPLE: ThreadPeople = { defaults: [], named: [], calls: {} };

/** The thread after an append that removes all records below a position. */
export const raised = (people: ThreadPeople, dropBelow = 1): ThreadPeople =>
  dropBelow > (people.floor ?? 1) ? { ...people, floor: dropBelow } : people;

/** Who a thread is about, as of its record at `seq`. */
export interface KnownPeople extends KnownPlace {
  readonly people: ThreadPeople;
}
