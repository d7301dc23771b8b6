/**
 * A subclass of `BaseCheckpointer` as callers see it. What a plain implementer forgets is done here, once: arguments,
 * options and flags are checked before anything is written, answers have the promised shape, and ids reach the storage
 * as text that can be joined to a key.
 *
 * The idea: a checkpoint carries its own id. A storage without the flags `history`, `conditionalSave` and `lease` is
 * plain. It has to give back what was last saved under a thread, and no more: which checkpoint that is, is read from the
 * state itself, so nothing depends on the order, the ids or the completeness of its lists. A storage that promises more
 * is asked as it is, with ids as they were given. Neither kind is asked more often for a save or a load.
 */

import { assertCheckpointId, assertThreadId, assertWriteId, newId } from "../driver/ids.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { type Page, page, signCursor, verifyCursor } from "../driver/page.ts";
import { globMatcher } from "../internal/glob.ts";
import { AgentState } from "../state/agent-state.ts";
import type { StateFields } from "../state/fields.ts";
import { assertCheckpointer } from "./assert-checkpointer.ts";
import {
  BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type CopyOptions,
  type DeleteOptions,
  type FindOptions,
  type ForkOptions,
  type ListThreadsOptions,
  missingAbility,
  type PageOptions,
  type SaveOptions,
  type SearchPage,
  type ThreadSummary,
  type VacuumOptions,
  type VacuumPlanEntry,
  type VacuumReport,
} from "./base-checkpointer.ts";
import { type CapabilityFlag, type CheckpointerCapabilities, NO_CAPABILITIES } from "./capabilities.ts";
import { contextOf } from "./context.ts";
import type { WatchOptions } from "./find/watching.ts";
import type { Lease, LeaseOptions } from "./lease/lease.ts";
import {
  COPY,
  checkedLimit,
  checkedPrefix,
  deleteOptionsOf,
  FIND,
  FORK,
  LEASE,
  LIST_THREADS,
  pageOptionsOf,
  refOf,
  saveOptionsOf,
  VACUUM,
  WATCH,
} from "./options.ts";
import { decodeMetadata, encodeMetadata } from "./record/metadata.ts";
import { loadState } from "./thread/loaded-state.ts";

const guards = new WeakMap<BaseCheckpointer, GuardedCheckpointer>();

/**
 * The checkpointer to work with: a subclass of `BaseCheckpointer` with its arguments checked and its answers completed;
 * one of holdfast's own as it is. What is no checkpointer is refused; `where` says by whom.
 */
export function guardedCheckpointer(value: unknown, where = "guardedCheckpointer()"): BaseCheckpointer {
  assertCheckpointer(value, where);
  if (value instanceof GuardedCheckpointer || contextOf(value) !== undefined) return value;
  const guard = guards.get(value) ?? new GuardedCheckpointer(value);
  guards.set(value, guard);
  return guard;
}

/** The field of a stored state that holds the checkpoint's id. */
const OWN_ID = "checkpointId";

class GuardedCheckpointer extends BaseCheckpointer {
  readonly #inner: BaseCheckpointer;

  constructor(inner: BaseCheckpointer) {
    super();
    this.#inner = inner;
  }

  override async connect(): Promise<CheckpointerCapabilities> {
    await this.#inner.connect();
    return this.capabilities;
  }

  get capabilities(): CheckpointerCapabilities {
    const flags = { ...NO_CAPABILITIES, ...this.#inner.capabilities };
    const { durability, persistentCheckpointIds, search, searchMethod } = flags;
    return {
      ...flags,
      // Ids that are still there after a restart lie outside this process.
      durability: persistentCheckpointIds && durability === "memory" ? "os" : durability,
      searchMethod: !search ? "none" : searchMethod === "none" ? "scan" : searchMethod,
    };
  }

  async save(
    state: AgentState,
    threadId: string,
    given?: string | SaveOptions,
    more?: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const { metadata, ...options } = saveOptionsOf(given, more);
    const { checkpointId, expectedHead, writeId } = options;
    if (!(state instanceof AgentState)) {
      throw new TypeError("save() takes an AgentState first and the thread id second");
    }
    assertThreadId(threadId);
    if (checkpointId !== undefined) assertCheckpointId(checkpointId);
    if (writeId !== undefined) assertWriteId(writeId);
    if (options.ttlSeconds !== undefined) this.#assertCan("ttl", "save");
    if (options.lease !== undefined) this.#assertCan("lease", "save");
    if (typeof expectedHead === "string" || expectedHead === null) this.#assertCan("conditionalSave", "save");
    const copy = metadata !== undefined && { metadata: decodeMetadata(encodeMetadata(metadata), "metadata") };
    if (!this.#isPlain) {
      const id: unknown = await this.#inner.save(state, threadId, { ...options, ...copy });
      if (typeof id === "string" && id !== "") return id;
      throw new TypeError(`${this.#name}.save() must return the id of the checkpoint`);
    }
    const id = checkpointId ?? newId();
    const signed = state.with({ [OWN_ID]: id } as Partial<StateFields>);
    await this.#inner.save(signed, stored(threadId), { ...options, ...copy, checkpointId: storedName(id) });
    return id;
  }

  async load(threadId: string, given?: string | CheckpointRef): Promise<AgentState | undefined> {
    const ref = refTo("load", threadId, given);
    if (!this.#isPlain) return loadState(this.#inner, threadId, ...(ref.checkpointId === undefined ? [] : [ref]));
    return (await this.#newest(threadId, ref))?.state;
  }

  override async exists(threadId: string, given?: string | CheckpointRef): Promise<boolean> {
    const ref = refTo("exists", threadId, given);
    if (!this.#isPlain) return (await this.#inner.exists(threadId, ref)) === true;
    return (await this.#newest(threadId, ref)) !== undefined;
  }

  async listCheckpoints(threadId: string, given?: number | PageOptions): Promise<Page<CheckpointSummary | string>> {
    const options = pageOptionsOf("listCheckpoints", given);
    assertThreadId(threadId);
    const limit = checkedLimit(options.limit, 10);
    const cursor = verifyCursor("checkpoints", options.cursor);
    if (limit === 0) return page<CheckpointSummary>([], options.cursor);
    if (this.#isPlain) {
      const newest = await this.#newest(threadId, {});
      return page(newest?.checkpointId === undefined ? [] : [{ checkpointId: newest.checkpointId }], undefined);
    }
    return this.#listed(threadId, limit, cursor);
  }

  /** A storage that gives no cursor may take the limit, or give all it has: so it is asked for one more than is shown. */
  async #listed(threadId: string, limit: number, cursor = "0"): Promise<Page<CheckpointSummary | string>> {
    const isOurs = /^\d+$/.test(cursor);
    const from = isOurs ? Number(cursor) : 0;
    const ask = async (options: PageOptions) => (await this.#inner.listCheckpoints(threadId, options)) ?? [];
    let found = await ask(isOurs ? { limit: from + limit } : { limit, cursor: cursor.slice(1) });
    const theirs = found.cursor;
    if (theirs !== undefined) {
      if (`+${theirs}` !== cursor) return page(found, signCursor("checkpoints", `+${theirs}`));
      throw new TypeError(
        `${this.#name}.listCheckpoints() gave the same cursor twice: the last page must have no cursor`,
      );
    }
    if (!isOurs) return page(found, undefined);
    if (found.length === from + limit) found = await ask({ limit: from + limit + 1 });
    const shown = found.slice(from, from + limit);
    return page(shown, found.length > from + limit ? signCursor("checkpoints", String(from + limit)) : undefined);
  }

  async delete(threadId: string, given?: string | DeleteOptions): Promise<boolean> {
    const options = deleteOptionsOf(given);
    refTo("delete", threadId, options.checkpointId);
    if (options.expectedHead !== undefined) {
      assertCheckpointId(options.expectedHead);
      this.#assertCan("conditionalSave", "delete");
    }
    if (!this.#isPlain) return (await this.#inner.delete(threadId, options)) === true;
    if ((await this.#newest(threadId, options)) === undefined) return false;
    await this.#inner.delete(stored(threadId));
    return true;
  }

  override async search(query: string, given?: FindOptions): Promise<SearchPage> {
    this.#assertCan("search", "search");
    if (!this.#isPlain) return this.#inner.search(query, given);
    if (typeof query !== "string") throw invalid("the query must be a string");
    const found = await this.#inner.search(query, within("search", given, 10));
    return Object.defineProperty(told(found), "order", { value: found.order ?? "best" }) as SearchPage;
  }

  override async queryByMetadata(key: string, value: unknown, given?: FindOptions): Promise<Page<ThreadSummary>> {
    this.#assertCan("metadataQuery", "queryByMetadata");
    if (!this.#isPlain) return this.#inner.queryByMetadata(key, value, given);
    if (typeof key !== "string" || !key.isWellFormed()) throw invalid("the metadata key must be well-formed text");
    return told(await this.#inner.queryByMetadata(key, value, within("queryByMetadata", given, 100)));
  }

  override async getMetadata(
    threadId: string,
    given?: string | CheckpointRef,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const ref = refTo("getMetadata", threadId, given);
    this.#assertCan("listWithMetadata", "getMetadata");
    if (!this.#isPlain) return (await this.#inner.getMetadata(threadId, ref)) ?? undefined;
    if ((await this.#newest(threadId, ref)) === undefined) return undefined;
    return (await this.#inner.getMetadata(stored(threadId))) ?? {};
  }

  override async listThreads(given?: ListThreadsOptions): Promise<Page<string>> {
    this.#assertCan("listThreads", "listThreads");
    if (!this.#isPlain) return this.#inner.listThreads(given);
    return everyThread("listThreads", given, (asked) => this.#inner.listThreads(asked));
  }

  override async listWithMetadata(given?: ListThreadsOptions): Promise<Page<ThreadSummary>> {
    this.#assertCan("listWithMetadata", "listWithMetadata");
    if (!this.#isPlain) return this.#inner.listWithMetadata(given);
    return everyThread("listWithMetadata", given, (asked) => this.#inner.listWithMetadata(asked));
  }

  override async vacuum(given?: VacuumOptions): Promise<VacuumReport> {
    this.#assertCan("vacuum", "vacuum");
    return this.#inner.vacuum(optionsOf("vacuum", given, VACUUM));
  }

  override async *vacuumPlan(given?: VacuumOptions): AsyncGenerator<VacuumPlanEntry, void, undefined> {
    this.#assertCan("vacuum", "vacuumPlan");
    const plan = this.#inner.vacuumPlan(optionsOf("vacuumPlan", given, VACUUM));
    yield* this.#isPlain ? mapped(plan) : plan;
  }

  override async copyThread(source: string, target: string, given?: CopyOptions): Promise<boolean> {
    const options = optionsOf("copyThread", given, COPY);
    for (const id of [source, target]) assertThreadId(id);
    this.#assertCan("branching", "copyThread");
    return (await this.#inner.copyThread(this.#place(source), this.#place(target), options)) === true;
  }

  override async fork(source: string, target: string, given?: string | ForkOptions): Promise<string> {
    const options = typeof given === "string" ? { at: given } : optionsOf<ForkOptions>("fork", given, FORK);
    for (const id of [source, target]) assertThreadId(id);
    if (options.at !== undefined) assertCheckpointId(options.at);
    this.#assertCan("branching", "fork");
    if (!this.#isPlain) return this.#inner.fork(source, target, options);
    const at = options.at === undefined ? {} : { at: storedName(options.at) };
    const made = await this.#inner.fork(stored(source), stored(target), { ...options, ...at });
    return (await this.#newest(target, {}))?.checkpointId ?? givenName(made);
  }

  override async withLease<T>(threadId: string, work: (lease: Lease) => Promise<T>, given?: LeaseOptions): Promise<T> {
    assertThreadId(threadId);
    this.#assertCan("lease", "withLease");
    return this.#inner.withLease(threadId, work, optionsOf("withLease", given, LEASE));
  }

  override watch(threadId: string, given?: WatchOptions): AsyncIterable<CheckpointSummary> {
    assertThreadId(threadId);
    this.#assertCan("watch", "watch");
    const seen = this.#inner.watch(this.#place(threadId), optionsOf("watch", given, WATCH));
    return this.#isPlain ? mapped(seen) : seen;
  }

  override close(): Promise<void> {
    return this.#inner.close();
  }

  get #name(): string {
    return this.#inner.constructor.name;
  }

  /** Keeps one state for each thread, as far as it says. */
  get #isPlain(): boolean {
    const { history, conditionalSave, lease } = this.#inner.capabilities;
    return !(history || conditionalSave || lease);
  }

  #place(threadId: string): string {
    return this.#isPlain ? stored(threadId) : threadId;
  }

  #assertCan(flag: CapabilityFlag, method: string): void {
    if (!this.#inner.capabilities[flag]) throw missingAbility(this.#inner, flag, method);
  }

  /** What was last saved under the thread, without its id; `undefined` also if that is another checkpoint than the one that is meant. */
  async #newest(
    threadId: string,
    { checkpointId }: CheckpointRef,
  ): Promise<{ readonly checkpointId: string | undefined; readonly state: AgentState } | undefined> {
    const found = await loadState(this.#inner, stored(threadId));
    if (found === undefined) return undefined;
    const { [OWN_ID]: id, ...fields } = found.fields as StateFields & { readonly [OWN_ID]?: unknown };
    const isSigned = typeof id === "string";
    const own = isSigned ? id : await this.#listedFirst(threadId);
    if (checkpointId !== undefined && checkpointId !== own) return undefined;
    return { checkpointId: own, state: isSigned ? AgentState.fromFields(fields) : found };
  }

  /** Of a state that was saved past this guard, or by a storage that keeps only what it knows. */
  async #listedFirst(threadId: string): Promise<string | undefined> {
    const [first] = (await this.#inner.listCheckpoints(stored(threadId), { limit: 1 })) ?? [];
    const id = typeof first === "string" ? first : first?.checkpointId;
    return id === undefined ? undefined : givenName(id);
  }
}

function refTo(method: string, threadId: string, given: string | CheckpointRef | undefined): CheckpointRef {
  const ref = refOf(method, given);
  assertThreadId(threadId);
  if (ref.checkpointId !== undefined) assertCheckpointId(ref.checkpointId);
  return ref;
}

/**
 * An id as a plain storage gets it: letters, digits, "-" and "_" as they are, everything else as in a URL. So no id
 * reaches into another one where ids are joined by "/", ":" or ".", and none is a member that every object has.
 */
const stored = (id: string): string => {
  const text = encodeURIComponent(id).replace(/[!'()*.~]/g, escaped);
  return text in Object.prototype ? text.replace(/^./, escaped) : text;
};

const escaped = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

/** The id that was stored as this. One that was saved past the guard is what it is. */
function idOf(text: string): string {
  try {
    const id = decodeURIComponent(text);
    return stored(id) === text ? id : text;
  } catch {
    return text;
  }
}

/** An id that the caller chose gets a mark in front: it may be "latest", which a plain storage may use itself. */
const storedName = (id: string): string => (/^[0-9a-f]{24}$/.test(id) ? id : `@${stored(id)}`);

const givenName = (text: string): string => (text.startsWith("@") ? idOf(text.slice(1)) : text);

/** An answer of a plain storage, with the ids as the caller knows them. */
const outside = <Item extends object>(item: Item): Item => {
  const { threadId, checkpointId } = item as { readonly threadId?: string; readonly checkpointId?: string };
  return {
    ...item,
    ...(threadId !== undefined && { threadId: idOf(threadId) }),
    ...(checkpointId !== undefined && { checkpointId: givenName(checkpointId) }),
  };
};

async function* mapped<Item extends object>(items: AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  for await (const item of items) yield outside(item);
}

const told = <Item extends object>(found: Page<Item>): Page<Item> =>
  page(found.map(outside), found.cursor, found.warnings);

/** Finding options for a plain storage, checked. */
function within(method: string, given: FindOptions | undefined, otherwise: number): FindOptions {
  const { limit, cursor, threadPrefix } = optionsOf<FindOptions>(method, given, FIND);
  if (cursor !== undefined && typeof cursor !== "string")
    throw invalid("a cursor is the text that the page before gave");
  return {
    limit: checkedLimit(limit, otherwise),
    ...(cursor !== undefined && { cursor }),
    ...(threadPrefix !== undefined && { threadPrefix: stored(checkedPrefix(threadPrefix)) }),
  };
}

/** A page of a plain storage's threads. It may know neither patterns nor pages, so it is asked for all of them. */
async function everyThread<Item extends string | ThreadSummary>(
  method: string,
  given: ListThreadsOptions | undefined,
  ask: (options: ListThreadsOptions) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const { pattern = "*", standing, ...rest } = optionsOf<ListThreadsOptions>(method, given, LIST_THREADS);
  if (typeof pattern !== "string") throw invalid("pattern must be a string");
  const limit = checkedLimit(rest.limit, 100);
  const after = verifyCursor("threads", rest.cursor);
  const matches = globMatcher(pattern);
  const threads = new Map<string, Item>();
  for await (const each of all(ask, standing === undefined ? {} : { standing })) {
    if (typeof each === "string") threads.set(idOf(each), idOf(each) as Item);
    else threads.set(idOf(each.threadId), outside(each as Item & ThreadSummary));
  }
  const ids = [...threads.keys()].filter((id) => matches(id) && (after === undefined || id > after)).sort();
  const shown = ids.slice(0, limit);
  const cursor = ids.length > limit ? signCursor("threads", shown.at(-1)) : undefined;
  return page(
    shown.flatMap((id) => threads.get(id) ?? []),
    cursor,
  );
}

/** By its cursors if it gives any; otherwise until it has fewer than it was asked for. Some come more than once. */
async function* all<Item>(
  ask: (options: ListThreadsOptions) => Promise<Page<Item>>,
  options: ListThreadsOptions,
): AsyncGenerator<Item, void, undefined> {
  for (let [limit, cursor] = [1000, undefined as string | undefined]; ; ) {
    const found = (await ask({ ...options, limit, ...(cursor !== undefined && { cursor }) })) ?? [];
    yield* found;
    if (found.cursor === undefined && (cursor !== undefined || found.length < limit)) return;
    if (found.cursor === undefined) limit *= 10;
    else if (found.cursor !== cursor) cursor = found.cursor;
    else throw new TypeError("a list of threads gave the same cursor twice: the last page must have no cursor");
  }
}
