/**
 * The contract between the class users hold (`Checkpointer`) and a storage
 * system. A thread is an append-only log of records with positions 1, 2, 3 …;
 * a driver moves them and knows nothing of agents. Everything that is a feature
 * (deltas, history, forks, leases, retention, conflicts) is made once, above,
 * out of these few operations. The driver's duties are stated on each of them;
 * `holdfast/testing` proves them.
 *
 * Common duties. A driver reports every failure by throwing what its client
 * threw: the caller wraps it once, with the driver's `classify`. It must never
 * turn a failure into an answer: "unreachable", "forbidden" and "damaged" are
 * errors, only "not there" is `undefined`. Thread ids and checkpoint ids are
 * opaque strings that were checked already (1 to 1024 bytes of well-formed text
 * without control characters); two different ids must never meet in one place.
 * A service that keeps tenants apart puts up to 64 bytes before a thread's id, so
 * a driver takes thread ids of up to 1088 bytes. A layer over another log
 * (`PrefixLog` is the pattern) is a `ThreadLog` with the same duties; one that
 * takes shorter ids says so in `maxThreadIdBytes`.
 */

import type { Driver } from "../driver/driver.ts";
import type { Durability } from "../driver/durability.ts";

/** A record without its payload: what listing returns. */
export interface LogEntry {
  /** Position in the thread, from 1. May have gaps below the tail, where records were dropped. */
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
   * Further names under which the record is found; left out where there are none. Names and checkpoint ids are one
   * set: several records may carry the same one, and whoever asks for it gets the newest of them.
   */
  readonly names?: readonly string[];
  /** Opaque text, a few hundred bytes. */
  readonly header: string;
  /** The caller's metadata as a JSON object, or nothing. A driver may index it. */
  readonly metadata: string | undefined;
}

export interface LogRecord extends LogEntry {
  readonly body: Uint8Array;
  /** Words to index, separated by spaces; only what this record adds. A driver without `search`, or with `catchUp`, is given none on an append. */
  readonly words: string | undefined;
}

/** Numbers that point outside the thread's own history are refused by `assertAppend`, which every driver asks first. */
export interface AppendRequest {
  /** Made at random when the thread is created. A thread that was deleted and made anew has another one. */
  readonly generation: string;
  /** The tail this append builds on; 0 means that the thread must not exist. */
  readonly expected: number;
  /** `record.seq` is `expected + 1`. */
  readonly record: LogRecord;
  /** Records at the positions behind it: all are there, or none is. Their bodies and `record`'s together fit `maxRecordBytes`. */
  readonly more?: readonly LogRecord[];
  /** Records to put in place of those with the same `seq`, all of them older than `record`; they are all there. */
  readonly replace?: readonly LogRecord[];
  /** Records to take out, older than `record`. */
  readonly drop?: readonly number[];
  /** Takes out every record below this position, which is at most `record.seq`. */
  readonly dropBelow?: number;
  /** Only with `capabilities.ttl`: the whole thread is gone this long after the append, by the storage's clock. */
  readonly ttlMs?: number;
}

export type AppendOutcome =
  | { readonly appended: true }
  /** Nothing was written. */
  | {
      readonly appended: false;
      /** The newest record, or `undefined` where the thread does not exist. */
      readonly tail: LogEntry | undefined;
      /** The generation that is there now, if any. */
      readonly generation: string | undefined;
      /** The record at `expected + 1` in the *same* generation, if there is one: the caller looks whether it is its own. */
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

/** A place in a thread that a reader knows already. */
export interface KnownPlace {
  readonly generation: string;
  readonly seq: number;
}

/** Where a thread ends at the moment. */
export interface ThreadTail {
  readonly generation: string;
  readonly entry: LogEntry;
  /** Only with `capabilities.ttl`: how long the thread has yet to live, by the storage's clock. Absent where it has no end. */
  readonly ttlMs?: number;
}

export interface ThreadEntry {
  readonly threadId: string;
  /** The entry of the thread's head checkpoint. */
  readonly head: LogEntry;
}

/** A page and, when there is more, the way to it. */
export interface LogPage<Item> {
  readonly items: readonly Item[];
  readonly cursor: string | undefined;
}

export interface SearchHit {
  readonly threadId: string;
  readonly entry: LogEntry;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
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
  /** How many records a reader should have to fetch at most before a new base pays. `Infinity` where one range read fetches any number. */
  readonly maxChainRecords: number;
  /** The longest thread id in bytes, for a layer that puts something before the ids and so takes less. Without it 1088. */
  readonly maxThreadIdBytes?: number;
  /** Of a layer that seals: whether words and metadata lie in plain below it. Without it nothing is sealed here. */
  readonly sealing?: "all" | "except index";
}

export interface ThreadLog extends Driver {
  /**
   * True of this instance, with this configuration. Fixed once constructed; with
   * `connect`, once that returned, and until then the least that is sure.
   */
  readonly capabilities: LogCapabilities;

  /**
   * Adds the record at `expected + 1`, and `more` behind it, or refuses.
   *
   * Must be atomic, together with `more`, `replace`, `drop` and `dropBelow`: after a
   * crash at any moment all of it is visible to every reader, or none. When it
   * returned, it is as durable as `capabilities.durability` says. Refuses
   * (without throwing) when the tail is not `expected` or the generation is
   * another one. Throws `INVALID_ARGUMENT` and writes nothing when `assertAppend`
   * refuses the request, or when a record that is to be replaced is not there; and whatever numbers it is given, here or in any other
   * operation, it never reads or touches another thread.
   */
  append(threadId: string, request: AppendRequest): Promise<AppendOutcome>;

  /**
   * The tail and every record from `tail.base` on, as of one moment; `undefined`
   * when there is no such thread. Whoever knows the thread up to `newerThan` is
   * given only records above it, where that place is still in the thread: the
   * same generation, and a tail that is not below it. Otherwise all of them, as without it.
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
   * and every other kind, as of one moment. At most `limit`, fewer where they are
   * large, but one at least while there is one; so an empty list is the end.
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
   * Takes the whole thread away, with everything that was kept for it. With
   * `ifTail`, only when that is still its tail, as atomically as `append`; else
   * "moved". No append that was under way, and none that expects the old
   * generation, may bring anything of it back.
   */
  remove(
    threadId: string,
    ifTail?: { readonly generation: string; readonly seq: number },
  ): Promise<"removed" | "absent" | "moved">;

  /**
   * Makes `target` a thread with the records of `source`, positions included,
   * and a generation of its own. Where the source has an end, the target has the
   * same. The target appears whole or not at all. Says
   * "no source" or "target exists" instead when that is so.
   */
  copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "target exists">;

  /**
   * Threads that have a head checkpoint, in a stable order of the driver's
   * choice; every thread that exists during the whole walk is met exactly once.
   * `prefix` narrows to ids that begin with it, literally. A thread that is
   * damaged stands in no other's way: it comes last, as an error that names it,
   * after every other thread was given.
   */
  listThreads(options: {
    readonly prefix: string;
    readonly cursor?: string;
    readonly limit: number;
  }): Promise<LogPage<ThreadEntry>>;

  /**
   * Records whose words contain all of `words`, each as a whole word or as the
   * beginning of one, in threads whose ids begin with `prefix`; whether or not
   * they carry a checkpoint id. Best first. Without it, threads are scanned.
   */
  search?(
    words: readonly string[],
    options: { readonly limit: number; readonly prefix?: string },
  ): Promise<readonly SearchHit[]>;

  /**
   * Brings the index that `search` uses up to date, for a driver that does not
   * index within `append` so that saves do not pay for searches. Called before
   * every search and now and then after saves. `wordsOf` gives any
   * record's words, and nothing for a record that has no words; where it throws,
   * that record alone is left out. Indexes what was there when it
   * was called, so that it ends however busy the writers are, and keeps what it
   * did when it is stopped: by `signal`, at the latest after its next batch.
   */
  catchUp?(wordsOf: (record: LogRecord) => string | undefined, signal?: AbortSignal): Promise<void>;

  /** Threads whose ids begin with `prefix` and whose head checkpoint's metadata has `key` with that JSON value. Without it, threads are scanned. */
  queryMetadata?(
    key: string,
    valueJson: string,
    options: { readonly cursor?: string; readonly limit: number; readonly prefix?: string },
  ): Promise<LogPage<ThreadEntry>>;

  /** Calls back some time after the thread changed, perhaps for no reason; returns the way to stop. Without it, `watch` polls. */
  subscribe?(threadId: string, onChange: () => void): () => void;

  /** The storage's own clock, for leases. Without it, this machine's. */
  now?(): Promise<number>;

  /** Whether a failed write was surely not made: the storage said so, or was never asked. Without it, the code decides. */
  declined?(error: unknown): boolean;
}
