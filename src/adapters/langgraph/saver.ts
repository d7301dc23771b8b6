import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { fixedUrl, openSaver } from "../../backends/open.ts";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { assertCheckpointId, assertCheckpointNs, assertTaskId, assertThreadId } from "../../driver/ids.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { invalid } from "../../driver/options.ts";
import { assertKnownOptions, described } from "../../internal/known-options.ts";
import { CheckpointSaver, insideOf, saverOf } from "../../saver/checkpoint-saver.ts";
import { ListReader, listThread } from "../../saver/history/listing.ts";
import { replacesEarlier, type SavedCheckpoint, writeIndex } from "../../saver/saver.ts";
import { graphThreadsIn } from "../../saver/thread/graph-kind.ts";
import { metadataText } from "../../saver/thread/graph-record.ts";
import type { GraphThreads } from "../../saver/thread/graph-threads.ts";
import type { Reconcile } from "../../saver/thread/planning.ts";
import { openCheckpoint } from "../../saver/thread/reading.ts";
import { type Packed, packValue } from "../../saver/values/packing.ts";
import { packParts, partKey, partPath } from "../../saver/values/parts.ts";
import { Shadows } from "../../saver/values/shadows.ts";
import type { ForeignReader } from "../../saver/values/unpacking.ts";
import { warnOfUnnamedPerson } from "../../state/people/subjects.ts";
import type { Redactor } from "../../state/secrets.ts";
import type { Place } from "../../state/values/path.ts";
import { deltaHistory } from "./delta-history.ts";
import { CustomValueReader, CustomValues, GraphValueReader, GraphValues, isLangChainObject } from "./values.ts";

/** The part of LangGraph's config that says which checkpoint is meant. */
interface Config {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface LangGraphSaverOptions {
  /** A serialiser of your own; every value goes through it. @default LangGraph's, for messages; plain data is kept losslessly */
  readonly serde?: SerializerProtocol;
}

/** LangGraph's checkpointer on any storage of this package. */
export class LangGraphSaver extends BaseCheckpointSaver {
  readonly #opening: OpenOnce<CheckpointSaver>;
  readonly #shadows = new Shadows(isLangChainObject);
  readonly #isCustom: boolean;
  readonly #reader: ForeignReader;
  readonly #redactor: Redactor | undefined;

  /** `redactor`: that of the saver, which must be known before anything is packed. */
  constructor(open: () => Promise<CheckpointSaver>, options: LangGraphSaverOptions = {}, redactor?: Redactor) {
    super(options.serde);
    if (typeof open !== "function") {
      throw new TypeError("write toLangGraphSaver(…), which takes a URL, a Checkpointer or a CheckpointSaver");
    }
    if (redactor !== undefined && options.serde !== undefined) {
      throw invalid(
        "redact cannot look into what a serialiser of yours writes: redact in the serialiser, or leave it out",
      );
    }
    this.#redactor = redactor;
    this.#opening = new OpenOnce(open);
    this.#isCustom = options.serde !== undefined;
    this.#reader = this.#isCustom ? new CustomValueReader(this.serde) : new GraphValueReader(this.serde);
  }

  /** The saver beneath: `prune`, `copyThread`, `deleteForRuns`, `listThreads`. */
  saver(): Promise<CheckpointSaver> {
    return this.#opening.get();
  }

  async close(): Promise<void> {
    await (await this.#opening.opened())?.close();
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.["thread_id"] === undefined) return undefined;
    const { threadId, ns, id } = placeIn("getTuple", config);
    const threads = await this.#threads();
    const found = await threads.find(threadId, ns, id);
    if (found === undefined) return undefined;
    const saved = await openCheckpoint(threadId, found, { foreign: this.#reader });
    return this.#tupleOf(threads, saved);
  }

  override async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit = Number.POSITIVE_INFINITY, before, filter = {} } = options;
    const threads = await this.#threads();
    const given = config.configurable?.["thread_id"];
    if (given !== undefined) assertThreadId(given);
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
    const ns = config.configurable?.["checkpoint_ns"];
    if (ns !== undefined) assertCheckpointNs(ns);
    const [id, end] = [idOf(config), before && idOf(before)];
    const request = {
      ...(ns !== undefined && { checkpointNs: ns as string }),
      ...(id !== undefined && { checkpointId: id }),
      ...(end !== undefined && { before: end }),
      filter: Object.fromEntries(wanted),
    };
    let left = limit;
    for await (const threadId of given === undefined ? graphThreadsIn(threads.context) : [given as string]) {
      if (left <= 0) return;
      const writer = threads.writer(threadId);
      await writer.settled();
      const bases = new Set<number>();
      const entries = await threads.context.guard({ operation: "list", threadId }, () =>
        listThread(threads.context, threadId, { ...request, limit: left }, bases),
      );
      left -= entries.length;
      const reader = new ListReader(threads.context, writer, threadId, bases, { foreign: this.#reader });
      for (const entry of entries) {
        const saved = await reader.load(entry);
        if (saved !== undefined) yield this.#tupleOf(threads, saved);
      }
    }
  }

  override async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<{ configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string } }> {
    const { threadId, ns, id: parentId } = placeIn("put", config);
    const { id, channel_values, ...rest } = checkpoint;
    assertCheckpointId(id);
    const values = this.#values();
    const parts = new Map(packParts(rest, "checkpoint", {}));
    for (const [channel, value] of Object.entries(channel_values ?? {})) {
      const place = { parent: { parent: ROOT, step: "channel_values" }, step: channel };
      parts.set(partKey(["channel_values", channel]), values.pack(value, place));
    }
    const runId = metadata["run_id" as keyof CheckpointMetadata] ?? config.metadata?.["run_id"];
    const subject = config.metadata?.["subject"];
    warnOfUnnamedPerson("put()", { ...config.metadata, ...metadata });
    const kept = {
      ...(subject !== undefined && { subject }),
      ...metadata,
      ...(runId !== undefined && { run_id: runId }),
    };
    const text = metadataText(kept, this.#redactor);
    const ready = settledTogether(values.pending);
    const opened = await this.#threads();
    const operation = {
      kind: "put" as const,
      ns,
      id,
      parentId,
      parts,
      metadata: text,
      createdAt: opened.context.now(),
      reconcile: channelRules(newVersions),
    };
    await opened.put(threadId, operation, metadata.source, ready);
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
  }

  override async putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void> {
    const { threadId, ns, id } = placeIn("putWrites", config);
    if (id === undefined) throw invalid('putWrites() needs a "checkpoint_id" in config.configurable');
    assertTaskId(taskId);
    if (writes.length === 0) return;
    const values = this.#values();
    const packed = writes.map(([channel, value], position) => {
      const place = { parent: { parent: undefined, step: "writes" }, step: String(channel) };
      return {
        channel: String(channel),
        index: writeIndex(String(channel), position),
        packed: values.pack(value, place),
      };
    });
    const replaces = replacesEarlier(writes.map(([channel, value]) => [String(channel), value]));
    const ready = settledTogether(values.pending);
    const threads = await this.#threads();
    await threads.putWrites(threadId, { kind: "writes", ns, id, taskId, replaces, writes: packed }, ready);
  }

  override async deleteThread(threadId: string): Promise<void> {
    await (await this.saver()).deleteThread(threadId);
  }

  override async getDeltaChannelHistory(options: {
    config: Config;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0) return {};
    const { threadId, ns, id } = placeIn("getDeltaChannelHistory", config);
    return deltaHistory(await this.#threads(), threadId, ns, id, channels, this.#reader);
  }

  async #threads(): Promise<GraphThreads> {
    return insideOf(await this.#opening.get()).threads;
  }

  /** One way to pack the values of one call, at once. */
  #values(): { readonly pack: (value: unknown, place: Place) => Packed; readonly pending: Promise<void>[] } {
    if (this.#isCustom) {
      const custom = new CustomValues(this.serde);
      return { pack: (value) => custom.pack(value), pending: custom.pending };
    }
    const foreign = new GraphValues(this.serde, this.#redactor);
    const options = { foreign, shadows: this.#shadows, redactor: this.#redactor };
    return { pack: (value, place) => packValue(value, place, options), pending: foreign.pending };
  }

  async #tupleOf(threads: GraphThreads, saved: SavedCheckpoint): Promise<CheckpointTuple> {
    const { threadId, checkpointNs, checkpointId, parentId, checkpointData, metadata, pendingWrites } = saved;
    const data = checkpointData as Partial<Checkpoint>;
    const checkpoint = {
      channel_values: {},
      channel_versions: {},
      versions_seen: {},
      ...data,
      id: checkpointId,
    } as Checkpoint;
    if (parentId !== undefined && checkpoint.v < 4) await this.#addPendingSends(threads, checkpoint, saved, parentId);
    const at = (id: string) => ({
      configurable: { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: id },
    });
    return {
      config: at(checkpointId),
      checkpoint,
      metadata: { ...metadata } as CheckpointMetadata,
      pendingWrites: pendingWrites.map(({ taskId, channel, value }) => [taskId, channel, value]),
      ...(parentId !== undefined && { parentConfig: at(parentId) }),
    };
  }

  /** Checkpoints of old versions of LangGraph have their sends among the writes of their parents. */
  async #addPendingSends(
    threads: GraphThreads,
    checkpoint: Checkpoint,
    { threadId, checkpointNs }: SavedCheckpoint,
    parentId: string,
  ): Promise<void> {
    const found = await threads.find(threadId, checkpointNs, parentId);
    const parent = found && (await openCheckpoint(threadId, found, { foreign: this.#reader }));
    const sends = (parent?.pendingWrites ?? []).filter(({ channel }) => channel === TASKS).map(({ value }) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends;
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

/** The caller that awaits the write gets a failure, even one that comes while the storage is being opened. */
function settledTogether(pending: readonly Promise<void>[]): Promise<unknown> {
  const all = Promise.all(pending);
  all.catch(() => undefined);
  return all;
}

const ROOT: Place = { parent: undefined, step: "checkpoint" };

/** The checkpoint that a config means: without an id, the newest one, or none where it is the parent of another. */
function placeIn(method: string, config: Config): { threadId: string; ns: string; id: string | undefined } {
  const { thread_id: threadId, checkpoint_ns: ns = "" } = config.configurable ?? {};
  if (threadId === undefined) {
    throw invalid(
      `${method}() needs a "thread_id" in config.configurable: graph.invoke(input, { configurable: { thread_id: "t1" } })`,
    );
  }
  assertThreadId(threadId);
  assertCheckpointNs(ns);
  return { threadId: threadId as string, ns: ns as string, id: idOf(config) };
}

function idOf(config: Config): string | undefined {
  const id: unknown = getCheckpointId(config as Parameters<typeof getCheckpointId>[0]);
  if (id === "") return undefined;
  assertCheckpointId(id);
  return id as string;
}

/**
 * Which channel values a checkpoint has. LangGraph hands over all values and says
 * which channels are new. The others are taken as they are, too: one that was
 * changed in place is kept as it is now, and one that did not change costs
 * nothing. Only where nothing vouches for a value, neither `newVersions` nor a
 * parent nor any checkpoint that has this version of the channel, is it left out.
 */
const channelRules =
  (newVersions: ChannelVersions): Reconcile =>
  (given, { hasParent, parentTexts, parentPart, isKnown }) => {
    const parts = new Map(given);
    for (const [key, version] of given) {
      const [member, channel] = partPath(key);
      if (member !== "channel_versions" || channel === undefined || Object.hasOwn(newVersions, channel)) continue;
      const at = partKey(["channel_values", channel]);
      const isParents = parentTexts.get(key) === version;
      const isInherited = isParents && parentTexts.has(at);
      const inherited = isInherited && !parts.has(at) ? parentPart(at) : undefined;
      if (inherited !== undefined) parts.set(at, inherited);
      else if (isParents && !isInherited) parts.delete(at);
      else if (!hasParent && typeof version === "string" && !isKnown(key, version, at)) parts.delete(at);
    }
    for (const key of given.keys()) {
      const [member, channel = ""] = partPath(key);
      const isUnversioned = member === "channel_values" && !given.has(partKey(["channel_versions", channel]));
      if (isUnversioned && !Object.hasOwn(newVersions, channel)) parts.delete(key);
    }
    return parts;
  };

/**
 * A LangGraph checkpointer on any storage of this package:
 *
 *     const graph = builder.compile({ checkpointer: toLangGraphSaver("sqlite:./graphs.db") });
 *
 * A URL is opened at the first use. A saver or a checkpointer stays yours to close.
 */
export function toLangGraphSaver(
  target: CheckpointSaver | BaseCheckpointer | string,
  options: LangGraphSaverOptions = {},
): LangGraphSaver {
  assertKnownOptions("toLangGraphSaver()", options, { serde: "object" });
  if (typeof target === "string") {
    const url = fixedUrl(target);
    return new LangGraphSaver(() => openSaver(url), options);
  }
  if (typeof target !== "object" || target === null) {
    throw new TypeError(
      `toLangGraphSaver() takes a CheckpointSaver, a Checkpointer or a URL such as "sqlite:./graphs.db", not ${described(target)}`,
    );
  }
  const saver = target instanceof CheckpointSaver ? target : saverOf(target);
  return new LangGraphSaver(async () => saver, options, insideOf(saver).context.redactor);
}
