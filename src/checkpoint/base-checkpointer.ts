/** Long because it is everything that a checkpointer of any kind has, with the options and answers of each method. */

import { OpenOnce } from "../driver/open-once.ts";
import { optionsOf } from "../driver/options.ts";
import type { Page } from "../driver/page.ts";
import type { ThreadWarning } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { diffStates, type StateDiff } from "../state/diff.ts";
import type { OpenCallsPolicy, Standing } from "../state/tool-calls.ts";
import type { CapabilityFlag, CheckpointerCapabilities } from "./capabilities.ts";
import type { InboxItem, InboxOptions } from "./find/inbox.ts";
import type { WatchOptions } from "./find/watching.ts";
import { comparedPlaces, type StatePlace } from "./history/compared-places.ts";
import type { CallSettlement } from "./history/settling-calls.ts";
import type { Lease, LeaseOptions } from "./lease/lease.ts";
import type { SearchOrder } from "./log/thread-log.ts";
import { INBOX, refOf } from "./options.ts";
import type { SendOptions, Sent } from "./signals/sending.ts";
import type { SentSignal, Signal } from "./signals/signal.ts";
import { loadState } from "./thread/loaded-state.ts";

/** Means "whatever is there now": gives up the protection against a second writer for one save. */
export const uncheckedHead: unique symbol = Symbol("holdfast.uncheckedHead");

export interface SaveOptions {
  /**
   * A name for the checkpoint. Saving under a name that the thread already has
   * moves the name. @default a new unique id
   */
  readonly checkpointId?: string;
  /** Kept with the checkpoint; `queryByMetadata` looks at the newest one of each thread. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /**
   * The head that this save builds on: a checkpoint id, `null` for "there must
   * be no thread", or `uncheckedHead`. @default the checkpoint the state was
   * loaded from or last saved as; for a state that never was, `null`.
   */
  readonly expectedHead?: string | null | typeof uncheckedHead;
  /** Names this attempt, so that a retry from another process is applied once. @default a new id for each save */
  readonly writeId?: string;
  /** Required while another holder has a lease on the thread. */
  readonly lease?: Lease;
  /** Ids of signals whose effect is in this state: they wait no longer, by the same write that stores it. */
  readonly consumes?: readonly string[];
  /** The thread expires this long after this save. Needs the capability `ttl`. */
  readonly ttlSeconds?: number;
}

export interface CheckpointRef {
  /** @default the newest */
  readonly checkpointId?: string;
}

export interface DeleteOptions extends CheckpointRef {
  /** Deletes the whole thread only while this is its newest checkpoint; otherwise `CONFLICT`. Needs `conditionalSave`. */
  readonly expectedHead?: string;
}

/** What a vacuum would take from one thread. */
export interface VacuumPlanEntry {
  readonly threadId: string;
  readonly checkpoints: number;
  /** The whole thread goes. */
  readonly isWhole: boolean;
  /** Why it would be left unchanged. */
  readonly skipped?: ThreadWarning;
}

export interface PageOptions {
  readonly limit?: number;
  /** The cursor of the previous page. */
  readonly cursor?: string;
}

export interface FindOptions extends PageOptions {
  /** Only threads whose ids begin with this text. @default "" */
  readonly threadPrefix?: string;
}

/** What a listing says about a checkpoint without loading it. Only the id is always present. */
export interface CheckpointSummary {
  readonly checkpointId: string;
  readonly createdAt?: Date;
  /** The checkpoint before it, if the listing reaches that far. */
  readonly parentId?: string;
  readonly messageCount?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The bytes that the checkpoint itself added to the storage. */
  readonly bytes?: number;
  /** Its position in the thread; larger is newer. */
  readonly seq?: number;
  /** What the thread waited for at this checkpoint; absent if nothing. */
  readonly standing?: Standing;
  /** The lease under which it was written, as of then. It may have been renewed or released since. */
  readonly lease?: { readonly owner: string; readonly expiresAt: Date };
}

export interface ThreadSummary extends CheckpointSummary {
  readonly threadId: string;
  /** It belongs to a graph, and is read by a saver. */
  readonly isGraph?: true;
}

export interface ThreadSearchHit extends ThreadSummary {
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
}

export type SearchPage = Page<ThreadSearchHit> & {
  /**
   * "best": the highest score first. "newest": more records have the words than
   * are ranked (`capabilities.searchRanksUpTo`), so the newest come first.
   */
  readonly order: SearchOrder;
};

export interface VacuumOptions {
  /** Removes checkpoints older than this, and threads whose newest checkpoint is. */
  readonly olderThanDays?: number;
  /** Keeps at least this many of the newest checkpoints of every thread. */
  readonly keepLast?: number;
  /** Counts and removes nothing. @default false */
  readonly dryRun?: boolean;
}

export interface VacuumReport {
  readonly checkpoints: number;
  readonly threads: number;
  readonly dryRun: boolean;
  /** Threads that were left unchanged, because they are damaged or were written to all the time. */
  readonly skipped: number;
  /** The reasons, for the first 20 of them. */
  readonly warnings: readonly ThreadWarning[];
}

export interface ForkOptions {
  /** The checkpoint to start from. @default the newest */
  readonly at?: string;
  /**
   * Tool calls without an outcome at that checkpoint. "settle": the new thread does not
   * run them, and its model learns that. "keep": it runs them as well, with new keys. A
   * call that was started is settled either way. @default "settle"
   */
  readonly openCalls?: OpenCallsPolicy;
}

export interface CopyOptions {
  /**
   * Tool calls without an outcome in the newest checkpoint. "settle": as in a
   * fork, by one more checkpoint. "keep": the copy is exact, keys included, for a
   * thread that moves; both threads would run them. @default "settle"
   */
  readonly openCalls?: OpenCallsPolicy;
}

export interface ThreadStats {
  readonly checkpoints: number;
  readonly messages: number;
  /** The bytes of all payloads of the thread's checkpoints. */
  readonly bytes: number;
  /** The bytes that loading the newest checkpoint reads. */
  readonly loadBytes: number;
  readonly loadRecords: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

export interface ListThreadsOptions extends PageOptions {
  /** `*` any run, `?` one character, backslash makes the next literal. @default "*" */
  readonly pattern?: string;
  /** Only threads whose newest checkpoint waits for this, or for one of these. @default all */
  readonly standing?: keyof Standing | readonly (keyof Standing)[];
}

const BRAND = Symbol.for("holdfast.Checkpointer");

/** The operations beside saving, loading, listing and leases. Loaded with the first of them. */
export const further: OpenOnce<typeof import("./graphs/further-operations.ts")> = new OpenOnce(
  () => import("./graphs/further-operations.ts"),
);

/**
 * The easy way to a backend of your own: implement `save`, `load`,
 * `listCheckpoints` and `delete`, and declare in `capabilities` what else works.
 * Every optional method throws `UNSUPPORTED` with the name of its flag until you
 * override it. (The full way is a `ThreadLog` driver, which gets every feature.)
 */
export abstract class BaseCheckpointer {
  constructor() {
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Makes contact now instead of at the first use. Override it if there is a server to reach. */
  async connect(): Promise<CheckpointerCapabilities> {
    return this.capabilities;
  }

  /** True for a checkpointer of any installed copy of holdfast. */
  static is(value: unknown): value is BaseCheckpointer {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  abstract get capabilities(): CheckpointerCapabilities;

  /** Stores the state and returns the checkpoint's id. Once it returned, `load` gives this state or a newer one. */
  abstract save(state: AgentState, threadId: string, options?: SaveOptions): Promise<string>;

  /** The newest state, or the named one. Only "not there" is `undefined`; a failure throws. */
  abstract load(threadId: string, options?: CheckpointRef): Promise<AgentState | undefined>;

  /** Newest first: summaries, or plain checkpoint ids. `history` returns summaries in both cases. */
  abstract listCheckpoints(
    threadId: string,
    options?: PageOptions,
  ): Promise<readonly (CheckpointSummary | string)[] & { readonly cursor?: string | undefined }>;

  /** Deletes one checkpoint or the whole thread. Returns whether there was anything to delete. */
  abstract delete(threadId: string, options?: DeleteOptions): Promise<boolean>;

  async exists(threadId: string, options?: string | CheckpointRef): Promise<boolean> {
    return (await loadState(this, threadId, refOf("exists", options))) !== undefined;
  }

  /** Every checkpoint, newest first. */
  async *history(threadId: string): AsyncGenerator<CheckpointSummary, void, undefined> {
    let cursor: string | undefined;
    for (;;) {
      const found = await this.listCheckpoints(threadId, { limit: 100, ...(cursor !== undefined && { cursor }) });
      for (const each of found) yield typeof each === "string" ? { checkpointId: each } : each;
      if (found.cursor === undefined) return;
      if (found.cursor === cursor) {
        const { name } = this.constructor;
        throw new TypeError(`${name}.listCheckpoints() gave the same cursor twice: the last page must have no cursor`);
      }
      cursor = found.cursor;
    }
  }

  /** What changed from checkpoint `before` to checkpoint `after` of a thread: `diff("t1", "c1", "c2")`; or between any two threads: `diff({ threadId: "t1" }, { threadId: "t2", checkpointId: "c1" })`. */
  diff(threadId: string, before: string, after: string): Promise<StateDiff>;
  diff(before: StatePlace, after: StatePlace): Promise<StateDiff>;
  async diff(first: string | StatePlace, second: string | StatePlace, third?: string): Promise<StateDiff> {
    const [before, after] = comparedPlaces(first, second, third);
    const both = [this.#stateAt(before), this.#stateAt(after)] as const;
    // Where neither can be read, the error is that of the first, whichever is answered sooner.
    await Promise.allSettled(both);
    const [a, b] = [await both[0], await both[1]];
    return diffStates(a.fields, b.fields);
  }

  async #stateAt({ threadId, checkpointId }: StatePlace): Promise<AgentState> {
    const state = await loadState(this, threadId, checkpointId === undefined ? {} : { checkpointId });
    if (state !== undefined) return state;
    const thread = JSON.stringify(threadId);
    if (checkpointId === undefined) throw new StateError("NOT_FOUND", `there is no thread ${thread}`, { threadId });
    const which = `thread ${thread} has no checkpoint ${JSON.stringify(checkpointId)}`;
    throw new StateError("NOT_FOUND", which, { threadId, checkpointId });
  }

  search(_query: string, _options?: FindOptions): Promise<SearchPage> {
    return this.#lacks("search", "search");
  }

  queryByMetadata(_key: string, _value: unknown, _options?: FindOptions): Promise<Page<ThreadSummary>> {
    return this.#lacks("metadataQuery", "queryByMetadata");
  }

  getMetadata(_threadId: string, _options?: CheckpointRef): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#lacks("listWithMetadata", "getMetadata");
  }

  vacuum(_options?: VacuumOptions): Promise<VacuumReport> {
    return this.#lacks("vacuum", "vacuum");
  }

  /** What a `vacuum` with these options would take, thread by thread. Changes nothing. */
  vacuumPlan(_options?: VacuumOptions): AsyncIterable<VacuumPlanEntry> {
    const lacks = (): Promise<never> => this.#lacks("vacuum", "vacuumPlan");
    return { [Symbol.asyncIterator]: () => ({ next: lacks }) };
  }

  copyThread(_source: string, _target: string, _options?: CopyOptions): Promise<boolean> {
    return this.#lacks("branching", "copyThread");
  }

  fork(_source: string, _target: string, _options?: ForkOptions): Promise<string> {
    return this.#lacks("branching", "fork");
  }

  listThreads(_options?: ListThreadsOptions): Promise<Page<string>> {
    return this.#lacks("listThreads", "listThreads");
  }

  listWithMetadata(_options?: ListThreadsOptions): Promise<Page<ThreadSummary>> {
    return this.#lacks("listWithMetadata", "listWithMetadata");
  }

  /** What waits for people, thread by thread: questions, approvals, calls with an unknown outcome. */
  async inbox(given?: InboxOptions): Promise<Page<InboxItem>> {
    const options = optionsOf("inbox", given, INBOX);
    const { readInbox } = await further.get();
    return readInbox(this, options);
  }

  /** Records how a call in doubt ended, once that was found out. It is kept with the call. */
  async settleCall(threadId: string, toolCallId: string, settlement: CallSettlement): Promise<void> {
    const { settleCall } = await further.get();
    return settleCall(this, threadId, toolCallId, settlement);
  }

  /**
   * Sends a signal to an existing thread, without its lease: words, answers, the outcome of a call, or a request to end
   * its turn. Once it returned, the signal is durable. The process that runs the thread takes signals in, in the order
   * in which they came.
   */
  send(_threadId: string, _signal: Signal, _options?: SendOptions): Promise<Sent> {
    return Promise.reject(missingMailbox(this, "send"));
  }

  /** What was sent to a thread and waits, oldest first. */
  signals(_threadId: string): Promise<readonly SentSignal[]> {
    return Promise.reject(missingMailbox(this, "signals"));
  }

  withLease<T>(_threadId: string, _work: (lease: Lease) => Promise<T>, _options?: LeaseOptions): Promise<T> {
    return this.#lacks("lease", "withLease");
  }

  watch(_threadId: string, _options?: WatchOptions): AsyncIterable<CheckpointSummary> {
    throw missingAbility(this, "watch", "watch");
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #lacks(flag: CapabilityFlag, method: string): Promise<never> {
    return Promise.reject(missingAbility(this, flag, method));
  }
}

/** A user's own class may compare heads and still have no log to which others append. */
function missingMailbox(checkpointer: BaseCheckpointer, method: string): StateError {
  const { name } = checkpointer.constructor;
  if (!checkpointer.capabilities.conditionalSave) return missingAbility(checkpointer, "conditionalSave", method);
  const message = `${name} has no ${method}(): what is sent to threads needs a log beneath; write a ThreadLog driver, or override ${method}()`;
  return new StateError("UNSUPPORTED", message, { capability: "conditionalSave" });
}

/** Why a method that a flag stands for cannot be called. */
export function missingAbility(checkpointer: BaseCheckpointer, flag: CapabilityFlag, method: string): StateError {
  const { name } = checkpointer.constructor;
  const message = checkpointer.capabilities[flag]
    ? `${name} advertises "${flag}" and has no ${method}(): implement it, or leave the flag out of its capabilities`
    : `${name} cannot do this: its capability "${flag}" is false. Check capabilities.${flag} first`;
  return new StateError("UNSUPPORTED", message, { capability: flag });
}
