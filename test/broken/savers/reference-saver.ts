import { type Page, page } from "../../../src/driver/page.ts";
import { StateError } from "../../../src/errors.ts";
import {
  checkedDeleteForRuns,
  checkedGet,
  checkedList,
  checkedListThreads,
  checkedPrune,
  checkedPut,
  checkedPutWrites,
} from "../../../src/saver/requests.ts";
import type {
  CheckpointInfo,
  DeleteForRunsRequest,
  GetRequest,
  ListedCheckpoint,
  ListRequest,
  ListThreadsRequest,
  PendingWrite,
  PruneRequest,
  PutRequest,
  PutWritesRequest,
  RemovedReport,
  SavedCheckpoint,
  Saver,
} from "../../../src/saver/saver.ts";
import { inWriteOrder, replacesEarlier, writeIndex } from "../../../src/saver/saver.ts";
import { canonicalJson, decodeText, encodeText } from "../../../src/state/values/codec.ts";

/** One checkpoint and its writes. `info` is absent while only writes have come. */
export interface KeptCheckpoint {
  info: CheckpointInfo | undefined;
  data: string;
  readonly writes: Map<string, Omit<PendingWrite, "value"> & { readonly value: string }>;
}

/** By namespace, then by id. */
export type KeptThread = Map<string, Map<string, KeptCheckpoint>>;

/**
 * A correct saver in its simplest form: Maps, and every value as text. What the
 * saver over a log must do is what this does. Each broken saver is this one with
 * one method gone wrong.
 */
export class ReferenceSaver implements Saver {
  protected readonly threads: Map<string, KeptThread>;
  readonly #now: () => number;
  #isClosed = false;

  constructor(options: { readonly now?: () => number; readonly threads?: Map<string, KeptThread> } = {}) {
    this.threads = options.threads ?? new Map();
    this.#now = options.now ?? (() => 0);
  }

  async put(given: PutRequest): Promise<void> {
    this.#assertOpen();
    const { threadId, checkpointNs = "", checkpointId, parentId, checkpointData, metadata = {} } = checkedPut(given);
    const kept = copied(metadata, "metadata") as Record<string, unknown>;
    const data = this.encoded(checkpointData, "checkpointData");
    const place = this.kept(threadId, checkpointNs, checkpointId);
    place.data = data;
    place.info = { threadId, checkpointNs, checkpointId, parentId, metadata: kept, createdAt: this.#now() };
  }

  async putWrites(given: PutWritesRequest): Promise<void> {
    this.#assertOpen();
    const { threadId, checkpointNs = "", checkpointId, taskId, writes } = checkedPutWrites(given);
    const texts = writes.map(([, value], position) => this.encoded(value, `writes[${position}][1]`));
    if (writes.length === 0) return;
    const place = this.kept(threadId, checkpointNs, checkpointId);
    for (const [position, [channel]] of writes.entries()) {
      const index = writeIndex(channel, position);
      const key = JSON.stringify([taskId, index]);
      if (place.writes.has(key) && !this.replaces(writes)) continue;
      place.writes.set(key, { taskId, index, channel, value: texts[position] ?? "" });
    }
  }

  async get(given: GetRequest): Promise<SavedCheckpoint | undefined> {
    this.#assertOpen();
    const { threadId, checkpointNs = "", checkpointId } = checkedGet(given);
    const namespace = this.threads.get(threadId)?.get(checkpointNs);
    const id =
      checkpointId ??
      [...(namespace ?? [])]
        .filter(([, { info }]) => info !== undefined)
        .map(([key]) => key)
        .sort()
        .at(-1);
    const kept = id === undefined ? undefined : namespace?.get(id);
    return kept && this.opened(kept);
  }

  async listCheckpoints(given?: ListRequest): Promise<readonly ListedCheckpoint[]> {
    this.#assertOpen();
    const { limit = Number.POSITIVE_INFINITY, threadId, ...request } = checkedList(given);
    const threads = threadId === undefined ? [...this.threads.keys()].sort() : [threadId];
    const found = threads.flatMap((each) => this.matching(each, request));
    return found
      .slice(0, limit)
      .map((kept) => ({ ...(kept.info as CheckpointInfo), load: async () => this.opened(kept) }));
  }

  async deleteThread(threadId: string): Promise<boolean> {
    this.#assertOpen();
    checkedGet({ threadId });
    return this.threads.delete(threadId);
  }

  async copyThread(source: string, target: string): Promise<boolean> {
    this.#assertOpen();
    checkedGet({ threadId: source });
    checkedGet({ threadId: target });
    const thread = this.threads.get(source);
    if (thread === undefined) return false;
    if (this.threads.has(target)) throw new StateError("CONFLICT", "the target of the copy exists");
    this.threads.set(target, new Map([...thread].map(([ns, checkpoints]) => [ns, copyOf(checkpoints, target)])));
    return true;
  }

  async prune(given: PruneRequest): Promise<RemovedReport> {
    this.#assertOpen();
    const { threadId, keepLast, olderThan } = checkedPrune(given);
    return this.removing(threadId, (info, rank) =>
      keepLast === undefined ? rank > 0 && info.createdAt < Number(olderThan) : rank >= keepLast,
    );
  }

  async deleteForRuns(given: DeleteForRunsRequest): Promise<RemovedReport> {
    this.#assertOpen();
    const { threadId, runIds } = checkedDeleteForRuns(given);
    return this.removing(threadId, ({ metadata }) => runIds.some((runId) => runId === metadata["run_id"]));
  }

  async listThreads(given?: ListThreadsRequest): Promise<Page<string>> {
    this.#assertOpen();
    const { prefix = "", cursor = "", limit = 100 } = checkedListThreads(given);
    const ids = [...this.threads].filter(
      ([id, thread]) => id.startsWith(prefix) && id > cursor && hasCheckpoint(thread),
    );
    const shown = ids.map(([id]) => id).sort();
    return page(shown.slice(0, limit), shown.length > limit ? shown[limit - 1] : undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  protected encoded(value: unknown, name: string): string {
    return encodeText(value, name);
  }

  protected replaces(writes: PutWritesRequest["writes"]): boolean {
    return replacesEarlier(writes);
  }

  protected kept(threadId: string, ns: string, id: string): KeptCheckpoint {
    const thread = entryOf(this.threads, threadId, (): KeptThread => new Map());
    const namespace = entryOf(thread, ns, () => new Map<string, KeptCheckpoint>());
    return entryOf(namespace, id, () => ({ info: undefined, data: "", writes: new Map() }));
  }

  protected opened({ info, data, writes }: KeptCheckpoint): SavedCheckpoint | undefined {
    if (info === undefined) return undefined;
    const pendingWrites = inWriteOrder(writes.values()).map((write) => ({
      ...write,
      value: decodeText(write.value, "a write"),
    }));
    const checkpointData = decodeText(data, "checkpointData") as Record<string, unknown>;
    return {
      ...info,
      metadata: copied(info.metadata, "metadata") as Record<string, unknown>,
      checkpointData,
      pendingWrites,
    };
  }

  protected matching(threadId: string, request: Omit<ListRequest, "limit">): KeptCheckpoint[] {
    const { checkpointNs, checkpointId, before, filter = {} } = request;
    return [...(this.threads.get(threadId)?.values() ?? [])]
      .flatMap((namespace) => [...namespace.values()])
      .filter(({ info }) => {
        if (info === undefined) return false;
        if (checkpointNs !== undefined && info.checkpointNs !== checkpointNs) return false;
        if (checkpointId !== undefined && info.checkpointId !== checkpointId) return false;
        if (before !== undefined && info.checkpointId >= before) return false;
        return this.passes(info.metadata, filter);
      })
      .sort((a, b) => newestFirst(a.info, b.info));
  }

  protected passes(metadata: Readonly<Record<string, unknown>>, filter: Readonly<Record<string, unknown>>): boolean {
    return Object.entries(filter).every(
      ([key, value]) => Object.hasOwn(metadata, key) && canonicalJson(metadata[key]) === canonicalJson(value),
    );
  }

  /** `rank` counts from the newest of a namespace, which is 0. */
  protected removing(
    threadId: string | undefined,
    isGoing: (info: CheckpointInfo, rank: number) => boolean,
  ): RemovedReport {
    let [threads, checkpoints] = [0, 0];
    for (const [id, thread] of this.threads) {
      if (threadId !== undefined && id !== threadId) continue;
      let removed = 0;
      for (const [ns, namespace] of thread) {
        const put = [...namespace.values()]
          .filter(({ info }) => info !== undefined)
          .sort((a, b) => newestFirst(a.info, b.info));
        for (const [rank, { info }] of put.entries()) {
          if (info === undefined || !isGoing(info, rank)) continue;
          namespace.delete(info.checkpointId);
          removed++;
        }
        if (namespace.size === 0) thread.delete(ns);
      }
      if (thread.size === 0) this.threads.delete(id);
      threads += removed > 0 ? 1 : 0;
      checkpoints += removed;
    }
    return { threads, checkpoints };
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StateError("CLOSED", "the saver was closed");
  }
}

const copied = (value: unknown, name: string): unknown => decodeText(encodeText(value, name), name);

const hasCheckpoint = (thread: KeptThread): boolean =>
  [...thread.values()].some((namespace) => [...namespace.values()].some(({ info }) => info !== undefined));

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

const copyOf = (checkpoints: Map<string, KeptCheckpoint>, threadId: string): Map<string, KeptCheckpoint> =>
  new Map(
    [...checkpoints].map(([id, { info, data, writes }]) => [
      id,
      { info: info && { ...info, threadId }, data, writes: new Map(writes) },
    ]),
  );

/** The greatest id first; the same id in two namespaces by its namespace. */
function newestFirst(a: CheckpointInfo | undefined, b: CheckpointInfo | undefined): number {
  const [left, right] = [a?.checkpointId ?? "", b?.checkpointId ?? ""];
  if (left !== right) return left > right ? -1 : 1;
  return (a?.checkpointNs ?? "") < (b?.checkpointNs ?? "") ? -1 : 1;
}
