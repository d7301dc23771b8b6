/** Long because it is the whole surface of a saver: a short method for each thing it does. */

import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import {
  type CheckpointContext,
  type CheckpointerOptions,
  contextOf,
  openContext,
  shareContext,
} from "../checkpoint/context.ts";
import { copyThread } from "../checkpoint/history/branching.ts";
import { removeThread } from "../checkpoint/history/removing-threads.ts";
import { assertThreadLog } from "../checkpoint/log/assert-thread-log.ts";
import { placeOfTail } from "../checkpoint/log/driver-rules.ts";
import { readableThreads } from "../checkpoint/log/listed-threads.ts";
import type { LogCapabilities, ThreadLog, ThreadTail } from "../checkpoint/log/thread-log.ts";
import { checkedLimit, checkedPrefix } from "../checkpoint/options.ts";
import { assertThreadId } from "../driver/ids.ts";
import { invalid } from "../driver/options.ts";
import { type Page, page, signCursor, verifyCursor } from "../driver/page.ts";
import { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { ListReader, listThread } from "./history/listing.ts";
import { nothingWhereHeld, type Removal, removeCheckpoints } from "./history/removing.ts";
import {
  checkedDeleteForRuns,
  checkedGet,
  checkedList,
  checkedListThreads,
  checkedPrune,
  checkedPut,
  checkedPutWrites,
} from "./requests.ts";
import {
  type DeleteForRunsRequest,
  type GetRequest,
  type ListedCheckpoint,
  type ListRequest,
  type ListThreadsRequest,
  type PruneRequest,
  type PutRequest,
  type PutWritesRequest,
  type RemovedReport,
  replacesEarlier,
  type SavedCheckpoint,
  type Saver,
  writeIndex,
} from "./saver.ts";
import { assertGraphThread, graphThreadsIn, isGraph } from "./thread/graph-kind.ts";
import { metadataText } from "./thread/graph-record.ts";
import { GraphThreads } from "./thread/graph-threads.ts";
import { openCheckpoint } from "./thread/reading.ts";
import { type PackOptions, packValue } from "./values/packing.ts";
import { packParts } from "./values/parts.ts";
import { Shadows } from "./values/shadows.ts";

export interface SaverRules {
  /**
   * What happens to a put whose parent is no longer the newest checkpoint of its
   * namespace, because another run was faster. "append": it becomes a branch, and
   * the greater id is the newest. "refuse": `CONFLICT`, unless the parent was asked
   * for by its id (a fork on purpose) or the metadata's `source` is "fork". @default "append"
   */
  readonly conflict?: "append" | "refuse";
  /** How many bytes a read may fetch beside the state before the state is written again as a base. @default 256 KiB */
  readonly slackBytes?: number;
}

export interface CheckpointSaverOptions extends CheckpointerOptions, SaverRules {
  /** A driver, such as the one you wrote. */
  readonly log: ThreadLog;
}

const DEFAULT_SLACK = 256 * 1024;
const READY = Promise.resolve();
const NOTHING_REMOVED = { checkpoints: 0 };

/** A versioned history with pending writes on any storage that can be a `ThreadLog`. */
export class CheckpointSaver implements Saver {
  readonly #context: CheckpointContext;
  readonly #threads: GraphThreads;
  readonly #packing: PackOptions;
  readonly #close: (() => Promise<void>) | undefined;
  #isClosed = false;

  constructor(options: CheckpointSaverOptions) {
    if (typeof options !== "object" || options === null) throw invalid("new CheckpointSaver({ log }) takes an object");
    const { log, conflict = "append", slackBytes = DEFAULT_SLACK } = options;
    if (conflict !== "append" && conflict !== "refuse") throw invalid('conflict must be "append" or "refuse"');
    if (!(Number.isSafeInteger(slackBytes) && slackBytes >= 0)) throw invalid("slackBytes must be a whole number");
    const shared = taken.get(options);
    if (shared === undefined) assertThreadLog(log);
    this.#context = shared === undefined ? openContext(this, log, options) : shareContext(this, shared.context);
    this.#packing = { shadows: new Shadows(), redactor: this.#context.redactor };
    this.#close = shared === undefined ? () => this.#closeLog() : shared.close;
    this.#threads = new GraphThreads(this.#context, slackBytes, conflict === "refuse");
    insides.set(this, { context: this.#context, threads: this.#threads });
  }

  get capabilities(): LogCapabilities {
    return this.#context.log.capabilities;
  }

  /** Makes contact now instead of at the first use. */
  async connect(): Promise<void> {
    this.#assertOpen("connect");
    await this.#context.connect({ operation: "connect" });
  }

  async put(given: PutRequest): Promise<void> {
    this.#assertOpen("put");
    const {
      threadId,
      checkpointNs: ns = "",
      checkpointId: id,
      parentId,
      checkpointData,
      metadata = {},
    } = checkedPut(given);
    const parts = packParts(checkpointData, "checkpointData", this.#packing);
    const isBare = Object.keys(metadata).length === 0;
    const text = isBare ? undefined : metadataText(metadata, this.#context.redactor);
    const createdAt = this.#context.now();
    const operation = { kind: "put" as const, ns, id, parentId, parts, metadata: text, createdAt };
    const source = metadata["source"];
    await this.#threads.put(threadId, operation, source, READY);
  }

  async putWrites(given: PutWritesRequest): Promise<void> {
    this.#assertOpen("putWrites");
    const { threadId, checkpointNs: ns = "", checkpointId: id, taskId, writes } = checkedPutWrites(given);
    const root = { parent: undefined, step: "writes" };
    const packed = writes.map(([channel, value], position) => {
      const place = { parent: { parent: root, step: position }, step: 1 };
      return { channel, index: writeIndex(channel, position), packed: packValue(value, place, this.#packing) };
    });
    if (writes.length === 0) return;
    const operation = { kind: "writes" as const, ns, id, taskId, replaces: replacesEarlier(writes), writes: packed };
    await this.#threads.putWrites(threadId, operation, READY);
  }

  async get(given: GetRequest): Promise<SavedCheckpoint | undefined> {
    this.#assertOpen("get");
    const { threadId, checkpointNs = "", checkpointId } = checkedGet(given);
    const found = await this.#threads.find(threadId, checkpointNs, checkpointId);
    return found && this.#context.guard({ operation: "get", threadId }, () => openCheckpoint(threadId, found, {}));
  }

  async listCheckpoints(given?: ListRequest): Promise<readonly ListedCheckpoint[]> {
    this.#assertOpen("listCheckpoints");
    const { threadId, limit = Number.POSITIVE_INFINITY, ...request } = checkedList(given);
    const listed: ListedCheckpoint[] = [];
    for await (const each of threadId === undefined ? graphThreadsIn(this.#context) : [threadId]) {
      if (listed.length >= limit) break;
      listed.push(...(await this.#listThread(each, { ...request, limit: limit - listed.length })));
    }
    return listed;
  }

  async #listThread(threadId: string, request: ListRequest): Promise<readonly ListedCheckpoint[]> {
    const writer = this.#threads.writer(threadId);
    await writer.settled();
    const bases = new Set<number>();
    const place = { operation: "listCheckpoints", threadId };
    const entries = await this.#context.guard(place, () => listThread(this.#context, threadId, request, bases));
    const reader = new ListReader(this.#context, writer, threadId, bases, {});
    return entries.map((entry) => {
      const { seq: _, base: __, ...info } = entry;
      return { ...info, load: () => this.#context.guard(place, () => reader.load(entry)) };
    });
  }

  async deleteThread(threadId: string): Promise<boolean> {
    this.#assertOpen("deleteThread");
    assertThreadId(threadId);
    const writer = this.#threads.writer(threadId);
    await writer.settled();
    const tail = await this.#assertGraph("deleteThread", threadId);
    const outcome = await writer.alone(async () => {
      writer.adopt(undefined);
      return removeThread(this.#context, { operation: "deleteThread", threadId }, tail && placeOfTail(tail));
    });
    return outcome === "removed";
  }

  async copyThread(source: string, target: string): Promise<boolean> {
    this.#assertOpen("copyThread");
    assertThreadId(source);
    assertThreadId(target);
    await this.#threads.writer(source).settled();
    await this.#assertGraph("copyThread", source);
    return copyThread(this.#context, source, target, "keep");
  }

  prune(given: PruneRequest): Promise<RemovedReport> {
    return this.#removing("prune", () => {
      const { threadId, keepLast, olderThan } = checkedPrune(given);
      const removes: Removal["removes"] =
        keepLast === undefined
          ? ({ createdAt }, rank) => rank > 0 && createdAt < Number(olderThan)
          : (_, rank) => rank >= keepLast;
      return { threadId, removes };
    });
  }

  deleteForRuns(given: DeleteForRunsRequest): Promise<RemovedReport> {
    return this.#removing("deleteForRuns", () => {
      const { threadId, runIds } = checkedDeleteForRuns(given);
      const wanted = new Set<unknown>(runIds);
      return { threadId, removes: ({ metadata }) => wanted.has(metadata["run_id"]) };
    });
  }

  async #removing(
    operation: string,
    check: () => Pick<Removal, "removes"> & { readonly threadId: string | undefined },
  ): Promise<RemovedReport> {
    this.#assertOpen(operation);
    const { threadId, ...removal } = check();
    let [threads, checkpoints] = [0, 0];
    const held: StateError[] = [];
    const warnings = new Warnings();
    for await (const each of threadId === undefined ? graphThreadsIn(this.#context, warnings) : [threadId]) {
      const writer = this.#threads.writer(each);
      const removed = await this.#context
        .guard({ operation, threadId: each }, () => removeCheckpoints(this.#context, writer, each, removal))
        .catch(nothingWhereHeld(held))
        .catch((error: unknown) => {
          if (threadId !== undefined) throw error;
          warnings.note(error, each);
          return NOTHING_REMOVED;
        });
      threads += removed.checkpoints > 0 ? 1 : 0;
      checkpoints += removed.checkpoints;
    }
    if (held[0] !== undefined) throw held[0];
    return { threads, checkpoints, ...(warnings.count > 0 && { warnings: warnings.list }) };
  }

  /** The threads of graphs; those of agents are not among them. */
  async listThreads(given?: ListThreadsRequest): Promise<Page<string>> {
    this.#assertOpen("listThreads");
    const { prefix, cursor: start, limit } = checkedListThreads(given);
    const size = checkedLimit(limit, 100);
    const query = { prefix: checkedPrefix(prefix), limit: size };
    const found: string[] = [];
    const warnings = new Warnings();
    let cursor = verifyCursor("threads", start);
    do {
      const page = { ...query, limit: size - found.length, ...(cursor !== undefined && { cursor }) };
      if (page.limit === 0) break;
      const answer = await this.#context.call({ operation: "listThreads" }, (log) => log.listThreads(page));
      for (const { threadId, head } of readableThreads(answer.items, warnings)) {
        if (isGraph(head, threadId, warnings)) found.push(threadId);
      }
      cursor = answer.cursor;
    } while (cursor !== undefined);
    return page(found, signCursor("threads", cursor), warnings.list);
  }

  /** Waits for pending writes. The storage is closed too, unless it belongs to a checkpointer. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#threads.settled();
    await this.#close?.();
  }

  async #closeLog(): Promise<void> {
    this.#context.beginClosing();
    await this.#context.log.close();
  }

  async #assertGraph(operation: string, threadId: string): Promise<ThreadTail | undefined> {
    return this.#context.guard({ operation, threadId }, () => assertGraphThread(this.#context, operation, threadId));
  }

  #assertOpen(operation: string): void {
    if (!this.#isClosed && !this.#context.closing.aborted) return;
    const { name } = this.#context.log;
    throw new StateError("CLOSED", `${name}: ${operation} after close(); open the saver again`, { backend: name });
  }
}

const insides = new WeakMap<CheckpointSaver, { readonly context: CheckpointContext; readonly threads: GraphThreads }>();

/** What is inside a saver, for the adapters of this package. */
export function insideOf(saver: CheckpointSaver): {
  readonly context: CheckpointContext;
  readonly threads: GraphThreads;
} {
  const inside = insides.get(saver);
  if (inside === undefined) throw new TypeError("this takes a CheckpointSaver of holdfast, not one that looks like it");
  return inside;
}

/** What a saver takes over from a checkpointer: its context, and perhaps the duty to close it. */
interface Taken {
  readonly context: CheckpointContext;
  readonly close: (() => Promise<void>) | undefined;
}

const taken = new WeakMap<object, Taken>();

/** A saver on the storage of a checkpointer, over the same connection. Closing the saver leaves the checkpointer open. */
export const saverOf = (checkpointer: BaseCheckpointer, rules: SaverRules = {}): CheckpointSaver =>
  takeOver(checkpointer, rules, undefined);

/** The same for a checkpointer that has no other holder: it is closed with the saver. */
export const saverInsteadOf = (checkpointer: BaseCheckpointer, rules: SaverRules): CheckpointSaver =>
  takeOver(checkpointer, rules, () => checkpointer.close());

function takeOver(checkpointer: BaseCheckpointer, rules: SaverRules, close: Taken["close"]): CheckpointSaver {
  const context = contextOf(checkpointer);
  if (context === undefined) {
    throw invalid(
      "saverOf() takes a Checkpointer, such as a factory of this package returns; this one has no log beneath",
    );
  }
  const options = { ...rules, log: context.log };
  taken.set(options, { context, close });
  return new CheckpointSaver(options);
}
