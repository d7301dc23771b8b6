import { BaseDriver, type Driver, unsupported } from "../../driver/driver.ts";
import type { Durability } from "../../driver/durability.ts";
import type { ErrorCode } from "../../errors.ts";

/**
 * The contract between the class that users hold (`Checkpointer`) and a storage
 * system. A thread is an append-only log of records at positions 1, 2, 3 …; a
 * driver stores them and knows nothing of agents. Every feature (deltas, history,
 * forks, leases, retention, conflicts) is built once, above, from these few
 * operations. Each operation states the driver's duties; `holdfast/conformance`
 * proves them.
 *
 * Common duties. A driver reports every failure by throwing what its client
 * threw; the caller wraps it once, using the driver's `classify`. It must never
 * turn a failure into an answer: "unreachable", "forbidden" and "damaged" are
 * errors, and only "not there" is `undefined`. Thread ids and checkpoint ids are
 * opaque strings that were already checked (1 to 1024 bytes of well-formed text
 * without control characters); two different ids must never share a place. A
 * service that keeps tenants apart puts up to 64 bytes before a thread's id, so a
 * driver accepts thread ids of up to 1088 bytes. A layer over another log
 * (`LogLayer`; `PrefixLog` is the pattern) is a `ThreadLog` with the same duties;
 * one that accepts only shorter ids says so in `maxThreadIdBytes`.
 *
 * Every method is always there. What a storage may lack is said by its
 * capabilities, and a driver that extends `BaseThreadLog` writes only what its
 * storage has.
 */

/** A record without its payload, as listings return it. */
export interface LogEntry {
  /** The position in the thread, from 1. There may be gaps below the tail, where records were dropped. */
  readonly seq: number;
  /** Made by the client, one for each append and the same when it is retried. */
  readonly writeId: string;
  /** No record below this position is needed to rebuild the state as of this record. */
  readonly base: number;
  /**
   * The checkpoint that stands for the thread as of this record: its own `seq`, or that of an earlier record with a
   * checkpoint id, which need not be the newest; 0 when there is none. Listings show it, queries look at its metadata.
   */
  readonly head: number;
  /** The first name of a record that is a checkpoint. Records with one are listed. */
  readonly checkpointId: string | undefined;
  /**
   * Further names under which the record is found; left out where there are none. Names and checkpoint ids are one set:
   * several records may carry the same one, and a lookup gets the newest of them.
   */
  readonly names?: readonly string[];
  /** Opaque text, a few hundred bytes. */
  readonly header: string;
  /** The caller's metadata as a JSON object, or nothing. A driver may index it. */
  readonly metadata: string | undefined;
}

export interface LogRecord extends LogEntry {
  readonly body: Uint8Array;
  /**
   * Words to index, separated by spaces; only what this record adds. Given where
   * `capabilities.search` is "with words".
   */
  readonly words: string | undefined;
}

/**
 * A record of a thread as a caller saw it. All three parts name it, wherever a driver compares one: a storage can go
 * back in time (a replica that lagged is promoted, a backup is restored), and other writers then give the same numbers
 * to other records. What was written since is in the history of a record whose three parts are the same.
 */
export interface KnownPlace {
  /** Random, made when the thread is created. A thread that was deleted and created again has another one. */
  readonly generation: string;
  readonly seq: number;
  readonly writeId: string;
}

/** `assertAppend` refuses numbers that point outside the thread's own history; every driver calls it first. */
export interface AppendRequest {
  /** The tail this append builds on, in all its parts; `beginningOf` a generation means that the thread must not exist. */
  readonly expected: KnownPlace;
  /** `record.seq` is `expected.seq + 1`. */
  readonly record: LogRecord;
  /**
   * Records at the positions behind it: either all are written or nothing is.
   * Together with `record`, their bodies fit `maxRecordBytes`.
   */
  readonly more?: readonly LogRecord[];
  /** Records that replace those with the same `seq`, all older than `record`; all of them must exist. */
  readonly replace?: readonly LogRecord[];
  /** Positions of records to remove, older than `record`. */
  readonly drop?: readonly number[];
  /** Removes every record below this position, which is at most `record.seq`. */
  readonly dropBelow?: number;
  /** Only with `capabilities.ttl`: the whole thread is gone this long after the append, by the storage's clock. */
  readonly ttlMs?: number;
}

export type AppendOutcome =
  | { readonly appended: true }
  /** Nothing was written. */
  | {
      readonly appended: false;
      /** The newest record, or `undefined` if the thread does not exist. */
      readonly tail: LogEntry | undefined;
      /** The generation that is there now, if any. */
      readonly generation: string | undefined;
      /** The record at `expected.seq + 1` in the *same* generation, if any: the caller checks whether it is its own. */
      readonly occupant: LogEntry | undefined;
    };

/** Enough records to rebuild one state, and the tail they were read at. */
export interface LogChain {
  readonly generation: string;
  /** The newest record of the thread at the moment of reading. */
  readonly tail: LogEntry;
  /** In ascending order. */
  readonly records: readonly LogRecord[];
}

/** The tail of a thread, and all of its records, as of one moment. */
export interface WithRecords {
  readonly tail?: KnownPlace;
  readonly records?: readonly LogRecord[];
}

/** The current end of a thread. */
export interface ThreadTail {
  readonly generation: string;
  readonly entry: LogEntry;
  /**
   * Only with `capabilities.ttl`: how long the thread still lives, by the
   * storage's clock. Absent if it does not expire.
   */
  readonly ttlMs?: number;
}

export interface ThreadEntry {
  readonly threadId: string;
  /** The entry of the thread's head checkpoint. */
  readonly head: LogEntry;
}

/** A thread that is there and cannot be listed: it is damaged, or was written by a newer version. */
export interface UnreadableThread {
  /** `undefined` if what would have told the id is what is damaged. */
  readonly threadId: string | undefined;
  readonly trouble: { readonly code: ErrorCode; readonly message: string };
}

export type ListedThread = ThreadEntry | UnreadableThread;

/** A page and, if there is more, the cursor to it. A page may be shorter than it was asked for, or empty, and not be the last. */
export interface LogPage<Item> {
  readonly items: readonly Item[];
  readonly cursor: string | undefined;
}

export interface LogCapabilities {
  readonly durability: Durability;
  /** Whether `append` really refuses a wrong `expected` when two processes race. */
  readonly conditionalAppend: boolean;
  /** Whether `listThreads` works; false for a storage that can only be asked by key. */
  readonly listThreads: boolean;
  /** Whether `ttlMs` is honoured. */
  readonly ttl: boolean;
  /** The largest body one append takes. */
  readonly maxRecordBytes: number;
  /**
   * How many records a reader should fetch at most before a new base pays off.
   * `Infinity` if one range read fetches any number.
   */
  readonly maxChainRecords: number;
  /** The longest thread id in bytes, for a layer that adds a prefix and so accepts less. Default 1088. */
  readonly maxThreadIdBytes?: number;
  /**
   * How many calls for different threads the driver can batch into one round trip. Bulk jobs keep this many in flight.
   * Each is answered as if it had come alone: a thread that is locked, damaged, moved or gone fails no other call.
   * Default 1.
   */
  readonly callsTogether?: number;
  /**
   * Whether `connect` reaches the storage. Until it returned, the other capabilities are the least that is certain.
   * Left out where the first operation is the first contact.
   */
  readonly connects?: boolean;
  /**
   * Whether `search` has an index, and when that is updated. "with words": by every append, which brings the words.
   * "deferred": by `catchUp`, which reads what was stored. Left out where there is none: then threads are scanned.
   */
  readonly search?: "with words" | "deferred" | undefined;
  /** With `search`: how many hits it ranks at most. Of more it returns the newest first. Default: any number. */
  readonly ranksUpTo?: number;
  /** Whether `queryMetadata` has an index. Where it has none, threads are scanned. */
  readonly metadataQuery?: boolean;
  /** Whether `subscribe` calls back. Where it does not, `watch` polls. */
  readonly subscribe?: boolean;
  /** Whether `now` is the storage's own clock. Where it has none, leases go by this machine's. */
  readonly clock?: boolean;
  /** Of a layer that seals: whether words and metadata lie in plain below it. Without it nothing is sealed here. */
  readonly sealing?: "all" | "except index";
}

export interface ThreadLog extends Driver {
  /** True of this instance with this configuration. Fixed once constructed, or with `connects` once `connect` returned. */
  readonly capabilities: LogCapabilities;

  /**
   * Adds the record behind `expected`, and `more` behind it, or refuses.
   *
   * Must be atomic, together with `more`, `replace`, `drop` and `dropBelow`:
   * after a crash at any moment every reader sees all of it or nothing. Once it
   * returned, it is as durable as `capabilities.durability` says. Refuses
   * (without throwing) if the tail is another one than `expected` in any of its
   * parts. Throws `INVALID_ARGUMENT` and writes nothing if `assertAppend` refuses the
   * request, or if a record to be replaced is missing. Whatever numbers it is
   * given, here or in any other operation, it never reads or touches another
   * thread.
   */
  append(threadId: string, request: AppendRequest): Promise<AppendOutcome>;

  /**
   * The tail and every record from `tail.base` on, as of one moment; `undefined`
   * if there is no such thread. A reader that knows the thread up to `newerThan`
   * gets only records above it, if that place is in the thread: the same
   * generation, and at its position a record of that write. Otherwise, also where
   * that record was dropped, it gets all of them, as without `newerThan`.
   */
  readTail(threadId: string, options?: { readonly newerThan?: KnownPlace }): Promise<LogChain | undefined>;

  /**
   * The newest record that carries `name`, as its checkpoint id or among its
   * names, and every record from its `base` up to it; `undefined` when the thread
   * or the name is not there.
   */
  readCheckpoint(threadId: string, name: string): Promise<LogChain | undefined>;

  /** The entry of the newest record that carries `name`, without its body. */
  entry(threadId: string, name: string): Promise<LogEntry | undefined>;

  /**
   * The newest records below `before`, or of all, with their bodies: checkpoints
   * and every other kind, as of one moment. At most `limit`, fewer if they are
   * large, but at least one while there is one; an empty list is the end.
   */
  readRecords(
    threadId: string,
    options: { readonly before?: number; readonly limit: number },
  ): Promise<LogChain | undefined>;

  /** The tail without any body. */
  tail(threadId: string): Promise<ThreadTail | undefined>;

  /** Entries that carry a checkpoint id, newest first, below `before` if given; those above the head too. Reads no bodies. */
  list(threadId: string, options: { readonly before?: number; readonly limit: number }): Promise<readonly LogEntry[]>;

  /**
   * Removes the whole thread and everything kept for it. With `ifTail`, only if
   * that is still its tail in all its parts, as atomically as `append`; otherwise "moved". `beginningOf` any generation
   * means that there must be no thread: only what interrupted changes left of an earlier one goes. No
   * append that was under way, and no append that expects the old generation, may
   * bring anything back.
   */
  remove(threadId: string, ifTail?: KnownPlace): Promise<"removed" | "absent" | "moved">;

  /**
   * Creates `target` as a thread with the records of `source`, at the same
   * positions, with a new generation. If the source expires, the target expires
   * at the same time. The target appears whole or not at all. Returns "no source"
   * or "target exists" if that is so.
   */
  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists">;

  /**
   * Threads that have a head checkpoint, in a stable order of the driver's
   * choice; every thread that exists during the whole walk is met exactly once.
   * `prefix` narrows it to ids that begin with it, literally. A thread that
   * cannot be read is an item too, in its place, with its trouble instead of its
   * head (`listedThread` makes it); one whose id cannot be told is in every list
   * that it may belong to. So whatever is thrown concerns the storage itself.
   */
  listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ListedThread>>;

  /**
   * The same threads in the same order, for work that has to look into each of them. Those of which `skips` says so need
   * not be among them. A thread comes with its tail where that is at hand, and with all of its records where they are few
   * and short; else `tail` and `readRecords` read them.
   */
  readThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
    readonly skips: (threadId: string, tail: KnownPlace) => boolean;
  }): Promise<LogPage<ListedThread & WithRecords>>;

  /**
   * Records whose words contain all of `words`, each as a whole word or as the
   * beginning of one, in threads whose ids begin with `prefix`, with or without a
   * checkpoint id. There is at least one, and each is written as it is indexed
   * (`searchWords`): no separators, no control characters. Best first, or newest first where more than
   * `capabilities.ranksUpTo` records have them. Continued with `after`, it meets
   * every record once that was there throughout. Only with `capabilities.search`.
   */
  search(words: readonly string[], options: SearchRange): Promise<FoundRecords>;

  /**
   * Updates the index that `search` uses, where that is "deferred" so that saves do
   * not pay for searches; else there is nothing to do. Called before every search
   * and now and then after saves. `wordsOf` returns a record's words, or nothing;
   * if it throws, that record alone is left out. It indexes what was there when
   * it was called, so that it ends however busy the writers are. If `signal`
   * stops it, it ends after its next batch at the latest and keeps what it did.
   */
  catchUp(wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void>;

  /**
   * Threads whose ids begin with `prefix` and whose head checkpoint's metadata has
   * `key` with that JSON value. A thread that cannot be asked, because its row or
   * its metadata is damaged, is an item with its trouble, wherever the index still
   * leads to it. Only with `capabilities.metadataQuery`.
   */
  queryMetadata(
    key: string,
    valueJson: string,
    options: { readonly cursor?: string; readonly limit: number; readonly prefix?: string },
  ): Promise<LogPage<ListedThread>>;

  /**
   * Calls back some time after the thread changed, perhaps for no reason; returns
   * a function that stops it. Only with `capabilities.subscribe`.
   */
  subscribe(threadId: string, onChange: () => void): () => void;

  /** The storage's own clock, for leases. Only with `capabilities.clock`. */
  now(): Promise<number>;

  /**
   * Whether a failed write was certainly not made: the storage said so, or was
   * never asked. Where it is not certain, the error code decides.
   */
  declined(error: unknown): boolean;
}

/**
 * What a driver extends: every method that a storage may lack, as it is where it
 * lacks it. Those with a flag in `capabilities` throw `UNSUPPORTED`, so a driver
 * that writes one says so there; the others do the harmless thing.
 */
export abstract class BaseThreadLog extends BaseDriver implements Partial<ThreadLog> {
  async listThreads(_options: Parameters<ThreadLog["listThreads"]>[0]): Promise<LogPage<ListedThread>> {
    throw unsupported("listThreads");
  }

  readThreads(options: Parameters<ThreadLog["readThreads"]>[0]): Promise<LogPage<ListedThread & WithRecords>> {
    return this.listThreads(options);
  }

  async search(_words: readonly string[], _options: SearchRange): Promise<FoundRecords> {
    throw unsupported("search");
  }

  async catchUp(_wordsOf: (record: LogRecord) => string | undefined, _signal?: AbortSignal): Promise<void> {}

  async queryMetadata(
    _key: string,
    _valueJson: string,
    _options: Parameters<ThreadLog["queryMetadata"]>[2],
  ): Promise<LogPage<ListedThread>> {
    throw unsupported("metadataQuery");
  }

  subscribe(_threadId: string, _onChange: () => void): () => void {
    throw unsupported("subscribe");
  }

  async now(): Promise<number> {
    throw unsupported("clock");
  }

  declined(_error: unknown): boolean {
    return false;
  }
}

/** What `ThreadLog.search` takes and answers. */

export interface SearchHit {
  readonly threadId: string;
  readonly entry: LogEntry;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** Handed back as `after`, the search continues behind this hit. Left out by a driver that cannot continue. */
  readonly place?: string;
}

/**
 * "best": the highest score first. "newest": more records have the words than the driver ranks, so the newest come
 * first: of one thread exactly, of several as the storage tells them apart (by when they were indexed, or by when
 * their threads were made).
 */
export type SearchOrder = "best" | "newest";

/** Fewer hits than were asked for are the last ones. */
export interface FoundRecords {
  readonly hits: readonly SearchHit[];
  readonly order: SearchOrder;
}

export interface SearchRange {
  readonly limit: number;
  readonly prefix?: string;
  /** The place of a hit of the same words and prefix. The order stays the one of that answer. */
  readonly after?: string;
}
