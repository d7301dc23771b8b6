import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";
import { StateError } from "../../errors.ts";
import { assertKnownOptions } from "../../internal/known-options.ts";
import { SPECIAL_CHANNELS } from "../../saver/saver.ts";
import { LangGraphSaver } from "./saver.ts";

export interface MovingInOptions {
  /** @default every thread that the source lists */
  readonly threadIds?: readonly string[];
  /** Called after each thread, when it was copied and compared. */
  readonly onThread?: (threadId: string, checkpoints: number) => void;
}

export interface MovingInReport {
  readonly threads: number;
  readonly checkpoints: number;
}

/**
 * Copies threads out of another LangGraph checkpointer (`SqliteSaver`,
 * `PostgresSaver`, `RedisSaver`, …): every checkpoint of every namespace, with parents,
 * metadata and pending writes; then reads each of them from both and compares.
 * Nothing is written to the source. A thread that the target has is refused.
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
  assertKnownOptions("copyGraphThreads()", options, { threadIds: "object", onThread: "function" });
  const { threadIds, onThread } = options;
  let [threads, checkpoints] = [0, 0];
  for (const threadId of threadIds ?? (await threadsOf(source))) {
    const copied = await copyThread(source, target, threadId);
    threads += copied > 0 ? 1 : 0;
    checkpoints += copied;
    onThread?.(threadId, copied);
  }
  return { threads, checkpoints };
}

async function threadsOf(source: BaseCheckpointSaver): Promise<readonly string[]> {
  const ids = new Set<string>();
  for await (const { config } of allOf(source, {})) ids.add(String(config.configurable?.["thread_id"]));
  return [...ids].sort();
}

/** As many as RediSearch gives at once, by default. */
const MOST_LISTED = 1_000_000;

/** All that a saver lists: asked without a limit, `RedisSaver` lists ten and says nothing of the others. */
async function* allOf(source: BaseCheckpointSaver, config: RunnableConfig): AsyncGenerator<CheckpointTuple> {
  let listed = 0;
  for await (const tuple of source.list(config, { limit: MOST_LISTED })) {
    listed++;
    yield tuple;
  }
  if (listed < MOST_LISTED) return;
  const todo = "name the threads to be copied (threadIds), some at a time";
  throw new StateError("TOO_LARGE", `the source lists ${listed} checkpoints, and may have more: ${todo}`);
}

async function copyThread(source: BaseCheckpointSaver, target: LangGraphSaver, threadId: string): Promise<number> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of allOf(source, { configurable: { thread_id: threadId } })) tuples.push(tuple);
  // Parents before their children: ids grow.
  tuples.sort((a, b) => (a.checkpoint.id < b.checkpoint.id ? -1 : 1));
  for await (const _ of target.list({ configurable: { thread_id: threadId } }, { limit: 1 })) {
    throw new StateError(
      "CONFLICT",
      `the target has a thread ${JSON.stringify(threadId)} already; delete it first, or leave it out`,
      {
        threadId,
      },
    );
  }
  for (const tuple of tuples) await putTuple(target, threadId, tuple);
  for (const tuple of tuples) await compare(target, tuple);
  return tuples.length;
}

const nsOf = ({ config }: CheckpointTuple): string => String(config.configurable?.["checkpoint_ns"] ?? "");

async function putTuple(target: LangGraphSaver, threadId: string, tuple: CheckpointTuple): Promise<void> {
  const { checkpoint, metadata, parentConfig, pendingWrites = [] } = tuple;
  const place = { thread_id: threadId, checkpoint_ns: nsOf(tuple) };
  const parent = parentConfig?.configurable?.["checkpoint_id"] as string | undefined;
  const config = { configurable: { ...place, ...(parent !== undefined && { checkpoint_id: parent }) } };
  const known = metadata ?? { source: "loop" as const, step: 0, parents: {} };
  // All of them, also the channels that have a value and no version yet: what is there is copied.
  const values = Object.keys(checkpoint.channel_values).map((channel) => [channel, 0] as const);
  const versions = { ...Object.fromEntries(values), ...checkpoint.channel_versions };
  const put = await target.put(config, checkpoint, known, versions);
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

function byTask(writes: NonNullable<CheckpointTuple["pendingWrites"]>): ReadonlyMap<string, PendingWrite[]> {
  const tasks = new Map<string, PendingWrite[]>();
  for (const [taskId, channel, value] of writes) {
    const own = tasks.get(taskId) ?? [];
    own.push([channel, value] as PendingWrite);
    tasks.set(taskId, own);
  }
  return tasks;
}

async function compare(target: LangGraphSaver, tuple: CheckpointTuple): Promise<void> {
  const copy = await target.getTuple({ configurable: { ...tuple.config.configurable } });
  const isSame = copy !== undefined && isDeepStrictEqual(comparable(copy), comparable(tuple));
  if (isSame) return;
  const { id } = tuple.checkpoint;
  throw new StateError("CORRUPT", `checkpoint ${JSON.stringify(id)} did not arrive as it is in the source`, {
    checkpointId: id,
  });
}

/** Without what either side may order or leave out as it likes: the order of writes of different tasks, the form of configs. */
function comparable({ checkpoint, metadata, parentConfig, pendingWrites = [] }: CheckpointTuple): unknown {
  const writes = [...byTask(pendingWrites)].sort(([a], [b]) => (a < b ? -1 : 1));
  const sorted = writes.map(([taskId, own]) => [taskId, own.map((write) => JSON.stringify(write)).sort()]);
  return [plain(checkpoint), plain(metadata), parentConfig?.configurable?.["checkpoint_id"], sorted];
}

/** As JSON, in which instances of LangChain's classes show what they are made of. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? {}, (_, part: unknown) => (part instanceof Map || part instanceof Set ? [...part] : part)),
  );
