import { codecOf } from "./record/codec.ts";
/**
 * Long because it is the whole interface that users see: one short method per
 * feature, each implemented in its own file.
 */

import type { CallPlace } from "../driver/call.ts";
import { assertCheckpointId, assertThreadId } from "../driver/ids.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { type Page, page, positionFrom } from "../driver/page.ts";
import { StateError } from "../errors.ts";
import { AgentState } from "../state/agent-state.ts";
import type { StateDiff } from "../state/diff.ts";
import {
  BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type CopyOptions,
  type DeleteOptions,
  type FindOptions,
  type ForkOptions,
  further,
  type ListThreadsOptions,
  type PageOptions,
  type SaveOptions,
  type SearchPage,
  type ThreadStats,
  type ThreadSummary,
  type VacuumOptions,
  type VacuumPlanEntry,
  type VacuumReport,
} from "./base-checkpointer.ts";
import { type CapabilityFlag, type CheckpointerCapabilities, capabilitiesOf } from "./capabilities.ts";
import { type CheckpointContext, type CheckpointerOptions, openContext } from "./context.ts";
import { metadataOf, summarise } from "./find/summary.ts";
import { assertWatchOptions, type WatchOptions, watchThread } from "./find/watching.ts";
import { comparedPlaces, type StatePlace } from "./history/compared-places.ts";
import type { CallSettlement } from "./history/settling-calls.ts";
import type { ThreadVerdict } from "./history/verifying.ts";
import {
  type BreakLeaseOptions,
  currentLease,
  endLease,
  type Lease,
  type LeaseInfo,
  type LeaseOptions,
  withLease,
} from "./lease/lease.ts";
import { assertThreadLog } from "./log/assert-thread-log.ts";
import type { LogCapabilities, LogEntry, ThreadLog } from "./log/thread-log.ts";
import {
  BREAK_LEASE,
  COPY,
  checkedLimit,
  deleteOptionsOf,
  FIND,
  FORK,
  LEASE,
  LIST_THREADS,
  openCallsOf,
  pageOptionsOf,
  refOf,
  SEND,
  saveOptionsOf,
  VACUUM,
  WATCH,
} from "./options.ts";
import { type ForkPoint, openHeader } from "./record/record.ts";
import type { SendOptions, Sent } from "./signals/sending.ts";
import type { SentSignal, Signal } from "./signals/signal.ts";
import { loadNamed, loadNewest } from "./thread/loading.ts";
import { saveState } from "./thread/saving.ts";

/**
 * Durable threads on any storage that can be a `ThreadLog`. This is what every
 * factory returns and what an agent takes.
 */
export class Checkpointer extends BaseCheckpointer {
  readonly #context: CheckpointContext;
  #capabilities: CheckpointerCapabilities;
  /** The driver capabilities that `#capabilities` was computed from. */
  #logCapabilities: LogCapabilities;

  constructor(log: ThreadLog, options: CheckpointerOptions = {}) {
    super();
    assertThreadLog(log);
    this.#context = openContext(this, log, options);
    this.#logCapabilities = log.capabilities;
    this.#capabilities = capabilitiesOf(this.#context.log, this.#context.access);
  }

  /**
   * What this storage can do as it is configured. For a remote one this is certain
   * after `connect()` or the first use.
   */
  get capabilities(): CheckpointerCapabilities {
    return this.#known();
  }

  #known(): CheckpointerCapabilities {
    const { log, access } = this.#context;
    if (log.capabilities !== this.#logCapabilities) {
      this.#logCapabilities = log.capabilities;
      this.#capabilities = capabilitiesOf(log, access);
    }
    return this.#capabilities;
  }

  /** Makes contact now instead of at the first use, so that a wrong address or password shows at the start. */
  override async connect(): Promise<CheckpointerCapabilities> {
    this.#context.assertOpen("connect");
    await this.#context.connect({ operation: "connect" });
    return this.capabilities;
  }

  /** `save(state, "t1", { checkpointId, metadata })`, or for short `save(state, "t1", checkpointId, metadata)`. */
  async save(
    state: AgentState,
    threadId: string,
    given?: string | SaveOptions,
    metadata?: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    this.#context.assertMayWrite("save");
    const options = saveOptionsOf(given, metadata);
    if (options.ttlSeconds !== undefined) await this.#assertCan("ttl", "ttlSeconds");
    if (options.lease !== undefined) await this.#assertCan("lease", "a lease");
    if (options.consumes !== undefined) await this.#assertCan("conditionalSave", "consumes");
    if (!(state instanceof AgentState))
      throw new TypeError("save() takes an AgentState first and the thread id second");
    const place = this.#named("save", threadId, undefined);
    const { expectedHead } = options;
    // Without a conditional append there is nothing to compare with. Saying so is better than pretending.
    if (typeof expectedHead === "string" || expectedHead === null)
      await this.#assertCan("conditionalSave", "expectedHead");
    try {
      const checkpointId = await saveState(this.#context, state, threadId, options);
      this.#context.index.appended();
      return checkpointId;
    } catch (error) {
      throw this.#context.placed(place, error);
    }
  }

  /** The newest state, or that of one checkpoint: `load("t1", { checkpointId })` or `load("t1", checkpointId)`. */
  async load(threadId: string, ref?: string | CheckpointRef): Promise<AgentState | undefined> {
    const { checkpointId } = refOf("load", ref);
    const place = this.#named("load", threadId, checkpointId);
    // Awaited, because an async function that returns a promise takes two turns more.
    return checkpointId === undefined
      ? await loadNewest(this.#context, place)
      : await loadNamed(this.#context, place, checkpointId);
  }

  override async exists(threadId: string, ref?: string | CheckpointRef): Promise<boolean> {
    const { checkpointId } = refOf("exists", ref);
    const place = this.#named("exists", threadId, checkpointId);
    return (await this.#entry(place)) !== undefined;
  }

  /** The newest checkpoints first; no state is read. */
  async listCheckpoints(threadId: string, given?: number | PageOptions): Promise<Page<CheckpointSummary>> {
    const place = this.#named("listCheckpoints", threadId, undefined);
    const options = pageOptionsOf("listCheckpoints", given);
    const limit = checkedLimit(options.limit, 10);
    const before = options.cursor === undefined ? undefined : positionFrom(options.cursor);
    if (limit === 0) return page<CheckpointSummary>([], options.cursor);
    const query = { limit: limit + 1, ...(before !== undefined && { before }) };
    const found = await this.#context.call(place, (log) => log.list(threadId, query));
    const shown = found.slice(0, limit);
    return this.#context.guard(place, async () =>
      page(
        shown.map((entry, index) => summarise(entry, found[index + 1])),
        found.length > limit ? String(shown.at(-1)?.seq) : undefined,
      ),
    );
  }

  /** One checkpoint, `delete("t1", { checkpointId })` or `delete("t1", checkpointId)`; or the whole thread. */
  async delete(threadId: string, given?: string | DeleteOptions): Promise<boolean> {
    this.#context.assertMayWrite("delete");
    const { checkpointId, expectedHead } = deleteOptionsOf(given);
    const place = this.#named("delete", threadId, checkpointId);
    if (expectedHead !== undefined) {
      if (checkpointId !== undefined)
        throw invalid("delete(): expectedHead is for whole threads, without a checkpointId");
      assertCheckpointId(expectedHead);
      await this.#assertCan("conditionalSave", "expectedHead");
      const { removeThreadAt } = await further.get();
      return removeThreadAt(this.#context, place, expectedHead);
    }
    const { deleteCheckpoint, removeThread } = await further.get();
    if (checkpointId !== undefined) {
      return this.#context.guard(place, () => deleteCheckpoint(this.#context, threadId, checkpointId));
    }
    return (await removeThread(this.#context, place)) === "removed";
  }

  override async search(query: string, given?: FindOptions): Promise<SearchPage> {
    this.#context.assertOpen("search");
    const options = optionsOf("search", given, FIND);
    await this.#assertCan("search", "search()");
    const { searchThreads } = await further.get();
    return searchThreads(this.#context, query, options);
  }

  override async queryByMetadata(key: string, value: unknown, given?: FindOptions): Promise<Page<ThreadSummary>> {
    this.#context.assertOpen("queryByMetadata");
    const options = optionsOf("queryByMetadata", given, FIND);
    await this.#assertCan("metadataQuery", "queryByMetadata()");
    const { findByMetadata, summariseThreads } = await further.get();
    return summariseThreads(await findByMetadata(this.#context, key, value, options));
  }

  /** The metadata that the checkpoint was saved with; `undefined` if it is not there. */
  override async getMetadata(
    threadId: string,
    ref?: string | CheckpointRef,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { checkpointId } = refOf("getMetadata", ref);
    const place = this.#named("getMetadata", threadId, checkpointId);
    const entry = await this.#entry(place);
    return this.#context.guard(place, async () => entry && metadataOf(entry));
  }

  override async vacuum(given?: VacuumOptions): Promise<VacuumReport> {
    this.#context.assertOpen("vacuum");
    const options = optionsOf("vacuum", given, VACUUM);
    if (options.dryRun !== true) this.#context.assertMayWrite("vacuum");
    // A dry run only looks, so read access allows it wherever threads can be listed.
    await this.#assertCan(this.#context.access === "read" ? "listThreads" : "vacuum", "vacuum()");
    const { assertVacuumOptions, vacuumThreads } = await further.get();
    assertVacuumOptions(options);
    return vacuumThreads(this.#context, options);
  }

  override async *vacuumPlan(given?: VacuumOptions): AsyncGenerator<VacuumPlanEntry, void, undefined> {
    this.#context.assertOpen("vacuumPlan");
    const { dryRun: _, ...rule } = optionsOf("vacuumPlan", given, VACUUM);
    await this.#assertCan("listThreads", "vacuumPlan()");
    const { assertVacuumOptions, planVacuum } = await further.get();
    assertVacuumOptions(rule);
    yield* planVacuum(this.#context, rule);
  }

  /** Copies the whole history to a new thread. False if the source is not there. */
  override async copyThread(source: string, target: string, given?: CopyOptions): Promise<boolean> {
    this.#context.assertMayWrite("copyThread");
    const openCalls = openCallsOf("copyThread", optionsOf("copyThread", given, COPY));
    const { copyThread } = await further.get();
    return copyThread(this.#context, source, target, openCalls);
  }

  override async settleCall(threadId: string, toolCallId: string, settlement: CallSettlement): Promise<void> {
    this.#context.assertMayWrite("settleCall");
    return super.settleCall(threadId, toolCallId, settlement);
  }

  /** What changed from checkpoint `before` to checkpoint `after`; of a graph's thread, in its channels. */
  override diff(threadId: string, before: string, after: string): Promise<StateDiff>;
  override diff(before: StatePlace, after: StatePlace): Promise<StateDiff>;
  override async diff(first: string | StatePlace, second: string | StatePlace, third?: string): Promise<StateDiff> {
    const [before, after] = comparedPlaces(first, second, third);
    this.#named("diff", after.threadId, after.checkpointId);
    const place = this.#named("diff", before.threadId, before.checkpointId);
    const entry = await this.#entry(place);
    return this.#context.guard(place, async () => {
      const saver = entry && codecOf(openHeader(entry).thread).saver;
      return saver === undefined ? super.diff(before, after) : (await saver()).diffGraph(this.#context, before, after);
    });
  }

  /** Starts a new thread from a checkpoint of another; returns the new thread's first checkpoint id. */
  override async fork(source: string, target: string, given?: string | ForkOptions): Promise<string> {
    this.#context.assertMayWrite("fork");
    const place = this.#named("fork", source, undefined);
    const options = typeof given === "string" ? { at: given } : optionsOf("fork", given, FORK);
    const openCalls = openCallsOf("fork", options);
    const { forkThread } = await further.get();
    return this.#context.guard(place, () => forkThread(this.#context, source, target, { at: options.at, openCalls }));
  }

  /** The checkpoints that this thread was forked from, nearest first, as far as those threads still exist. */
  async lineage(threadId: string): Promise<readonly ForkPoint[]> {
    const place = this.#named("lineage", threadId, undefined);
    const { lineageOf } = await further.get();
    return this.#context.guard(place, () => lineageOf(this.#context, threadId));
  }

  override async listThreads(given?: ListThreadsOptions): Promise<Page<string>> {
    this.#context.assertOpen("listThreads");
    const options = optionsOf("listThreads", given, LIST_THREADS);
    await this.#assertCan("listThreads", "listThreads()");
    const { findThreads, threadIds } = await further.get();
    return threadIds(await findThreads(this.#context, options));
  }

  /** Threads with the summary of their newest checkpoint. */
  override async listWithMetadata(given?: ListThreadsOptions): Promise<Page<ThreadSummary>> {
    this.#context.assertOpen("listWithMetadata");
    const options = optionsOf("listWithMetadata", given, LIST_THREADS);
    await this.#assertCan("listWithMetadata", "listWithMetadata()");
    const { findThreads, summariseThreads } = await further.get();
    return summariseThreads(await findThreads(this.#context, options));
  }

  /** The size of a thread; `undefined` if it is not there. Reads no state. */
  async stats(threadId: string): Promise<ThreadStats | undefined> {
    const place = this.#named("stats", threadId, undefined);
    const { threadStats } = await further.get();
    return this.#context.guard(place, () => threadStats(this.#context, threadId));
  }

  /** Runs `work` as the thread's only writer. Pass the lease to every `save` inside. */
  override async withLease<T>(threadId: string, work: (lease: Lease) => Promise<T>, given?: LeaseOptions): Promise<T> {
    this.#context.assertMayWrite("withLease");
    this.#named("withLease", threadId, undefined);
    const options = optionsOf("withLease", given, LEASE);
    if (typeof work !== "function") throw new TypeError("withLease() takes the thread id, the work, then its options");
    await this.#assertCan("lease", "withLease()");
    return withLease(this.#context, threadId, work, options);
  }

  /** The thread's lease and its holder; `undefined` if it is free. */
  async leaseOf(threadId: string): Promise<LeaseInfo | undefined> {
    const place = this.#named("leaseOf", threadId, undefined);
    return this.#context.guard(place, () => currentLease(this.#context, threadId));
  }

  /**
   * Ends the lease of a holder that will not release it: its next save is refused. False if the thread has no lease.
   */
  async breakLease(threadId: string, given?: BreakLeaseOptions): Promise<boolean> {
    this.#context.assertMayWrite("breakLease");
    const place = this.#named("breakLease", threadId, undefined);
    const options = optionsOf("breakLease", given, BREAK_LEASE);
    await this.#assertCan("lease", "breakLease()");
    return this.#context.guard(place, () => endLease(this.#context, threadId, options));
  }

  /** Sends something to the thread, for the process that runs it or runs it next. */
  override async send(threadId: string, signal: Signal, given?: SendOptions): Promise<Sent> {
    this.#context.assertMayWrite("send");
    const place = this.#named("send", threadId, undefined);
    const options = optionsOf("send", given, SEND);
    await this.#assertCan("conditionalSave", "send()");
    const { sendSignal } = await further.get();
    return this.#context.guard(place, () => sendSignal(this.#context, threadId, signal, options));
  }

  override async signals(threadId: string): Promise<readonly SentSignal[]> {
    this.#named("signals", threadId, undefined);
    const { signalsWaiting } = await further.get();
    return signalsWaiting(this.#context, threadId);
  }

  /** Verifies every record of the thread; `undefined` if it is not there. */
  async verify(threadId: string): Promise<ThreadVerdict | undefined> {
    const place = this.#named("verify", threadId, undefined);
    const { verifyThread } = await further.get();
    return this.#context.guard(place, () => verifyThread(this.#context, threadId));
  }

  /** Every checkpoint saved from now on, by any process. */
  override watch(threadId: string, given?: WatchOptions): AsyncIterable<CheckpointSummary> {
    this.#named("watch", threadId, undefined);
    const options = optionsOf("watch", given, WATCH);
    assertWatchOptions(options);
    return watchThread(this.#context, threadId, options);
  }

  override async close(): Promise<void> {
    if (this.#context.closing.aborted) return;
    this.#context.beginClosing();
    await this.#context.index.settled();
    await this.#context.log.close();
  }

  /** The entry of one checkpoint, or of the newest. */
  #entry(place: CallPlace & { readonly threadId: string }): Promise<LogEntry | undefined> {
    const { threadId, checkpointId } = place;
    return this.#context.call(place, async (log) =>
      checkpointId === undefined ? (await log.list(threadId, { limit: 1 }))[0] : log.entry(threadId, checkpointId),
    );
  }

  #named(operation: string, threadId: string, checkpointId: string | undefined): CallPlace & { threadId: string } {
    this.#context.assertOpen(operation);
    assertThreadId(threadId);
    if (checkpointId === undefined) return { operation, threadId };
    assertCheckpointId(checkpointId);
    return { operation, threadId, checkpointId };
  }

  async #assertCan(flag: CapabilityFlag, what: string): Promise<void> {
    if (this.#known()[flag]) return;
    await this.#context.connect({ operation: "connect" });
    if (this.#known()[flag]) return;
    const { name } = this.#context.log;
    const message = `${name}: ${what} needs the capability "${flag}", which is false here`;
    throw new StateError("UNSUPPORTED", message, { backend: name, capability: flag });
  }
}
