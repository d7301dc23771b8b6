import type {
  BaseCheckpointSaver,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";
import { assertKnownOptions } from "../../internal/known-options.ts";
import { NETWORK_CODES } from "../../internal/network-codes.ts";
import { SPECIAL_CHANNELS } from "../../saver/saver.ts";
import { LangGraphSaver } from "./saver.ts";
import { type SourcePlace, sourcePlaces, sourceThreads } from "./source-ids.ts";

export interface MovingInOptions {
  /** @default every thread that the source has */
  readonly threadIds?: readonly string[];
  /** Looks and compares, and writes nothing. @default false */
  readonly dryRun?: boolean;
  /** Called after each thread that the target has whole by then, with the number of checkpoints that were copied. */
  readonly onThread?: (threadId: string, checkpoints: number) => void;
}

/** A thread that was left where it is, and why. */
export interface SkippedThread {
  readonly threadId: string;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface MovingInReport {
  /** Threads that were copied, or whose missing part was. */
  readonly threads: number;
  readonly checkpoints: number;
  /** Threads that the target had whole before. */
  readonly thereAlready: number;
  readonly skipped: readonly SkippedThread[];
}

/**
 * Copies threads out of another LangGraph checkpointer (`SqliteSaver`,
 * `PostgresSaver`, `RedisSaver`, …): every checkpoint of every namespace, with parents,
 * metadata and pending writes, one at a time, each read from both and compared.
 * Nothing is written to the source. It can be killed at any moment and called
 * again: what the target has of a thread is compared first, and only what is
 * missing is copied. A thread that differs there, or cannot be copied, is in the
 * report; it stays as it is, and the others are copied.
 */
export async function copyGraphThreads(
  source: BaseCheckpointSaver,
  target: LangGraphSaver,
  options: MovingInOptions = {},
): Promise<MovingInReport> {
  if (typeof source?.list !== "function" || !(target instanceof LangGraphSaver)) {
    throw new TypeError(
      "copyGraphThreads() takes the LangGraph checkpointer to read from, then the one that toLangGraphSaver() made, to write to",
    );
  }
  // A misspelt threadIds would copy every thread.
  assertKnownOptions("copyGraphThreads()", options, { threadIds: "object", onThread: "function", dryRun: "boolean" });
  const { threadIds, onThread, dryRun = false } = options;
  let [threads, checkpoints, thereAlready] = [0, 0, 0];
  const skipped: SkippedThread[] = [];
  for (const threadId of threadIds ?? (await sourceThreads(source))) {
    try {
      const copied = await copyThread({ source, target, threadId }, dryRun);
      if (copied === 0) thereAlready++;
      else if (copied !== undefined) threads++;
      checkpoints += copied ?? 0;
      onThread?.(threadId, copied ?? 0);
    } catch (error) {
      skipped.push(troubleOf(threadId, error));
    }
  }
  return { threads, checkpoints, thereAlready, skipped };
}

const OF_ONE_THREAD: readonly ErrorCode[] = [
  ...(["CONFLICT", "CORRUPT", "HELD", "INCOMPATIBLE", "INVALID_ARGUMENT", "TOO_LARGE"] as const),
];

/** Why this thread is left out; throws what would keep every other from being copied, too. */
function troubleOf(threadId: string, error: unknown): SkippedThread {
  if (StateError.is(error)) {
    if (!OF_ONE_THREAD.includes(error.code)) throw error;
    return { threadId, code: error.code, message: error.message };
  }
  const { code } = error as { readonly code?: unknown };
  const outage = typeof code === "string" ? NETWORK_CODES[code] : undefined;
  const message = `thread ${JSON.stringify(threadId)} cannot be read from the source: ${reasonOf(error)}`;
  if (outage === undefined) return { threadId, code: "CORRUPT", message };
  throw new StateError(outage, message, { threadId, cause: error });
}

interface Ends {
  readonly source: BaseCheckpointSaver;
  readonly target: LangGraphSaver;
  readonly threadId: string;
}

/** How many checkpoints were copied, or completed; `undefined` of a thread that the source does not have. */
async function copyThread(ends: Ends, dryRun: boolean): Promise<number | undefined> {
  const { source, target, threadId } = ends;
  const places = await sourcePlaces(source, threadId);
  if (places.length === 0) return undefined;
  const whole = await wholeInTarget(ends, places).catch((error: unknown) => {
    // A trial may be made before there is a store to copy into.
    if (dryRun && StateError.is(error, "NOT_FOUND")) return new Set<string>();
    throw error;
  });
  const missing = places.filter((place) => !whole.has(keyOf(place)));
  if (dryRun) return missing.length;
  let copied = 0;
  for (const place of missing) {
    const tuple = await source.getTuple(configOf(threadId, place));
    // Removed from the source meanwhile.
    if (tuple === undefined) continue;
    await putTuple(target, threadId, place, tuple);
    if (!isSame(await target.getTuple(configOf(threadId, place)), tuple)) throw arrivedOtherwise(threadId, place);
    copied++;
  }
  return copied;
}

const keyOf = ({ ns, id }: SourcePlace): string => `${ns}\n${id}`;

const configOf = (threadId: string, { ns, id }: SourcePlace) => ({
  configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id },
});

/**
 * The checkpoints that the target has with all their writes. Every one that it has
 * is compared before anything is written, so that two threads are never mixed. A
 * checkpoint whose writes are not complete is one that a killed move left.
 */
async function wholeInTarget(ends: Ends, places: readonly SourcePlace[]): Promise<ReadonlySet<string>> {
  const { source, target, threadId } = ends;
  const known = new Set(places.map(keyOf));
  const whole = new Set<string>();
  let others = 0;
  for await (const own of target.list({ configurable: { thread_id: threadId } })) {
    const place = { ns: String(own.config.configurable?.["checkpoint_ns"] ?? ""), id: own.checkpoint.id };
    const tuple = known.has(keyOf(place)) ? await source.getTuple(configOf(threadId, place)) : undefined;
    if (tuple === undefined) others++;
    else if (isSame(own, tuple)) whole.add(keyOf(place));
    else if (!isBegun(own, tuple)) throw another(threadId, `checkpoint ${JSON.stringify(place.id)} differs`);
  }
  // It was moved before, and has new checkpoints in the target.
  if (others === 0 || whole.size === known.size) return whole;
  throw another(threadId, `it has ${others} checkpoints that the source does not have`);
}

const another = (threadId: string, how: string): StateError => {
  const todo = "delete it there first, or leave it out";
  const what = `the target has a thread ${JSON.stringify(threadId)} already, and it is not this one: ${how}`;
  return new StateError("CONFLICT", `${what}; ${todo}`, { threadId });
};

const arrivedOtherwise = (threadId: string, { id: checkpointId }: SourcePlace): StateError =>
  new StateError(
    "CORRUPT",
    `checkpoint ${JSON.stringify(checkpointId)} of thread ${JSON.stringify(threadId)} did not arrive as it is in the source`,
    { threadId, checkpointId },
  );

async function putTuple(
  target: LangGraphSaver,
  threadId: string,
  { ns }: SourcePlace,
  { checkpoint, metadata, parentConfig, pendingWrites = [] }: CheckpointTuple,
): Promise<void> {
  const place = { thread_id: threadId, checkpoint_ns: ns };
  const parent = parentConfig?.configurable?.["checkpoint_id"] as string | undefined;
  const config = { configurable: { ...place, ...(parent !== undefined && { checkpoint_id: parent }) } };
  const known = metadata ?? { source: "loop" as const, step: 0, parents: {} };
  // All of them, including channels with a value and no version yet.
  const values = Object.keys(checkpoint.channel_values).map((channel) => [channel, 0] as const);
  const versions = { ...Object.fromEntries(values), ...checkpoint.channel_versions };
  const put = await target.put(config, checkpoint, withoutInstances(known) as CheckpointMetadata, versions);
  for (const [taskId, writes] of byTask(pendingWrites)) {
    // Apart, because a call of nothing but special channels follows other rules.
    const special = writes.filter(([channel]) => SPECIAL_CHANNELS.has(String(channel)));
    await target.putWrites(
      put,
      writes.filter((write) => !special.includes(write)),
      taskId,
    );
    await target.putWrites(put, special, taskId);
  }
}

/**
 * Versions of LangGraph before 0.4 put what each node wrote into the metadata,
 * messages and all. Metadata is plain JSON here, so they are kept as the JSON that
 * the source has of them.
 */
function withoutInstances(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutInstances);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutInstances(part)]));
  }
  const isData = value instanceof Date || value instanceof Map || value instanceof Set || value instanceof Uint8Array;
  return isData ? value : (JSON.parse(JSON.stringify(value)) as unknown);
}

function byTask(writes: NonNullable<CheckpointTuple["pendingWrites"]>): ReadonlyMap<string, PendingWrite[]> {
  const tasks = new Map<string, PendingWrite[]>();
  for (const [taskId, channel, value] of writes) {
    const own = tasks.get(taskId) ?? [];
    own.push([channel, value] as PendingWrite);
    tasks.set(taskId, own);
  }
  return tasks;
}

const isSame = (copy: CheckpointTuple | undefined, tuple: CheckpointTuple): boolean =>
  copy !== undefined &&
  isSameJson(withoutWrites(copy), withoutWrites(tuple)) &&
  isSameJson(writesIn(copy), writesIn(tuple));

/** The same checkpoint with some of its writes: a move was ended between them. */
function isBegun(copy: CheckpointTuple, tuple: CheckpointTuple): boolean {
  const written = new Set(writesIn(tuple));
  return isSameJson(withoutWrites(copy), withoutWrites(tuple)) && writesIn(copy).every((one) => written.has(one));
}

/** Without what either side may leave out as it likes: the form of configs. */
const withoutWrites = ({ checkpoint, metadata, parentConfig }: CheckpointTuple): unknown => [
  checkpoint,
  metadata ?? {},
  parentConfig?.configurable?.["checkpoint_id"],
];

/** In an order of their own: savers order the writes of different tasks as they like. */
const writesIn = ({ pendingWrites = [] }: CheckpointTuple): readonly string[] =>
  pendingWrites.map((write) => JSON.stringify(write, shown)).sort();

/**
 * Whether two values have one JSON, in which instances of LangChain's classes show what they are made of. What JSON has no
 * form for is told apart. Nothing is copied: a whole state may be large, and there is one for each checkpoint.
 */
function isSameJson(given: unknown, other: unknown): boolean {
  const [one, two] = [inJson(given), inJson(other)];
  if (typeof one !== "object" || one === null || typeof two !== "object" || two === null) return one === two;
  if (Array.isArray(one) !== Array.isArray(two)) return false;
  if (Array.isArray(one) && Array.isArray(two)) {
    return one.length === two.length && one.every((item, at) => isSameJson(item ?? null, two[at] ?? null));
  }
  if (one instanceof Uint8Array && two instanceof Uint8Array) return Buffer.compare(one, two) === 0;
  const members = (value: object): readonly (readonly [string, unknown])[] =>
    Object.entries(value).filter(([, member]) => inJson(member) !== undefined);
  const [mine, theirs] = [members(one), new Map(members(two))];
  return (
    mine.length === theirs.size &&
    mine.every(([name, member]) => theirs.has(name) && isSameJson(member, theirs.get(name)))
  );
}

function inJson(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { readonly toJSON?: unknown };
  const part = shown("", typeof toJSON === "function" ? (toJSON.call(value) as unknown) : value);
  return typeof part === "function" || typeof part === "symbol" ? undefined : part;
}

function shown(_: string, part: unknown): unknown {
  if (part instanceof Map || part instanceof Set) return [...part];
  if (typeof part === "bigint") return `the BigInt ${part}`;
  if (typeof part === "number" && !Number.isFinite(part)) return `the number ${part}`;
  return part;
}
