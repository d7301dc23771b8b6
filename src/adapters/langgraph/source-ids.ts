import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StateError } from "../../errors.ts";

/** Which checkpoints another saver has, without holding any of them. */

export interface SourcePlace {
  readonly ns: string;
  readonly id: string;
}

export async function sourceThreads(source: BaseCheckpointSaver): Promise<readonly string[]> {
  const known = await idsOf(source)?.threads().catch(nothing);
  const ids = new Set<string>(known);
  if (known === undefined) for await (const { threadId } of listed(source, {})) ids.add(threadId);
  return [...ids].sort();
}

/** Parents before their children: ids grow. */
export async function sourcePlaces(source: BaseCheckpointSaver, threadId: string): Promise<readonly SourcePlace[]> {
  const known = await idsOf(source)?.places(threadId).catch(nothing);
  const places = [...(known ?? [])];
  if (known === undefined) {
    for await (const { ns, id } of listed(source, { configurable: { thread_id: threadId } })) places.push({ ns, id });
  }
  return places.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

/** Not the storage that is known, or nothing in it yet: the saver itself is asked. */
function nothing(error: unknown): undefined {
  if (StateError.is(error)) throw error;
  return undefined;
}

/** Savers list whole states, some of them all at once; what they store tells the ids alone. */
interface Ids {
  threads(): Promise<readonly string[]>;
  places(threadId: string): Promise<readonly SourcePlace[]>;
}

type Row = Readonly<Record<string, unknown>>;

/** What the savers of LangGraph hold, each its own part of it. */
interface KnownSaver {
  readonly db?: {
    prepare?(sql: string): { all(...values: readonly string[]): readonly Row[] };
  } & Partial<MongoDatabase>;
  readonly pool?: { query?(sql: string, values: readonly string[]): Promise<{ readonly rows: readonly Row[] }> };
  readonly client?: { readonly ft?: { search?: RediSearch } };
  readonly options?: { readonly schema?: string };
  readonly checkpointCollectionName?: string;
}

function idsOf(source: BaseCheckpointSaver): Ids | undefined {
  const { db, pool, client, options, checkpointCollectionName } = source as unknown as KnownSaver;
  if (typeof db?.prepare === "function") {
    return idsOfTable("checkpoints", async (sql, ...values) => db.prepare?.(sql).all(...values) ?? []);
  }
  if (typeof pool?.query === "function") {
    const name = `"${(options?.schema ?? "public").replaceAll('"', '""')}".checkpoints`;
    return idsOfTable(name, async (sql, ...values) => (await pool.query?.(sql.replace("?", "$1"), values))?.rows ?? []);
  }
  if (typeof db?.collection === "function" && checkpointCollectionName !== undefined) {
    return idsOfCollection(db.collection(checkpointCollectionName));
  }
  if (typeof client?.ft?.search === "function") return idsOfIndex(client.ft.search.bind(client.ft));
  return undefined;
}

const placeIn = (row: Row): SourcePlace => ({ ns: String(row["checkpoint_ns"]), id: String(row["checkpoint_id"]) });

/** `SqliteSaver` and `PostgresSaver`. */
const idsOfTable = (
  name: string,
  ask: (sql: string, ...values: readonly string[]) => Promise<readonly Row[]>,
): Ids => ({
  threads: async () => (await ask(`SELECT DISTINCT thread_id FROM ${name}`)).map((row) => String(row["thread_id"])),
  places: async (threadId) =>
    (await ask(`SELECT checkpoint_ns, checkpoint_id FROM ${name} WHERE thread_id = ?`, threadId)).map(placeIn),
});

interface MongoCollection {
  aggregate(stages: readonly object[]): { toArray(): Promise<readonly Row[]> };
  find(query: object, options: object): { toArray(): Promise<readonly Row[]> };
}

interface MongoDatabase {
  collection(name: string): MongoCollection;
}

/** `MongoDBSaver`. */
const idsOfCollection = (checkpoints: MongoCollection): Ids => ({
  threads: async () =>
    (await checkpoints.aggregate([{ $group: { _id: "$thread_id" } }]).toArray()).map((row) => String(row["_id"])),
  places: async (threadId) => {
    const projection = { _id: 0, checkpoint_ns: 1, checkpoint_id: 1 };
    return (await checkpoints.find({ thread_id: threadId }, { projection }).toArray()).map(placeIn);
  },
});

type RediSearch = (
  index: string,
  query: string,
  options: object,
) => Promise<{ readonly documents: readonly { readonly value: Row }[] }>;

/** As many as RediSearch gives at once, by default. */
const MOST_LISTED = 1_000_000;

/** `RedisSaver`. Its index takes "a" and "A" for one tag, so a thread's checkpoints are looked at once more. */
function idsOfIndex(search: RediSearch): Ids {
  const rows = async (query: string): Promise<readonly Row[]> => {
    const parts = ["thread_id", "checkpoint_ns", "checkpoint_id"];
    const found = await search("checkpoints", query, { RETURN: parts, LIMIT: { from: 0, size: MOST_LISTED } });
    assertWhole(found.documents.length);
    return found.documents.map(({ value }) => value);
  };
  return {
    threads: async () => (await rows("*")).map((row) => String(row["thread_id"])),
    places: async (threadId) => {
      const own = (await rows(`@thread_id:{${asTag(threadId)}}`)).filter((row) => row["thread_id"] === threadId);
      return own.map(placeIn).map(({ ns, id }) => ({ ns: ns === "__empty__" ? "" : ns, id }));
    },
  };
}

/** Every sign of a query's own is escaped, by what is none. */
const asTag = (threadId: string): string => threadId.replace(/[^\p{L}\p{N}_]/gu, (sign) => `\\${sign}`);

/** All that a saver lists: asked without a limit, `RedisSaver` lists ten and says nothing of the others. */
async function* listed(
  source: BaseCheckpointSaver,
  config: RunnableConfig,
): AsyncGenerator<SourcePlace & { readonly threadId: string }> {
  let count = 0;
  for await (const { config: at, checkpoint } of source.list(config, { limit: MOST_LISTED })) {
    count++;
    const { thread_id: threadId, checkpoint_ns: ns = "" } = at.configurable ?? {};
    yield { threadId: String(threadId), ns: String(ns), id: checkpoint.id };
  }
  assertWhole(count);
}

function assertWhole(count: number): void {
  if (count < MOST_LISTED) return;
  const todo = "name the threads to be copied (threadIds), some at a time";
  throw new StateError("TOO_LARGE", `the source lists ${count} checkpoints, and may have more: ${todo}`);
}
