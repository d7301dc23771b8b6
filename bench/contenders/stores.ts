import { InMemoryStore as LangGraphMemory } from "@langchain/langgraph-checkpoint";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { Client } from "pg";
import type { Store } from "../../src/store/store.ts";

export interface BenchItem {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number>>;
  readonly embedding: readonly number[];
}

/** One store, as the bench uses it. */
export interface StoreContender {
  readonly name: string;
  /** How long the last search by vector took. */
  readonly lastMs: number | undefined;
  fill(items: readonly BenchItem[]): Promise<void>;
  /** After the last of them: where an index is made. */
  filled(): Promise<void>;
  put(item: BenchItem): Promise<unknown>;
  get(key: string): Promise<unknown>;
  searchText(query: string): Promise<unknown>;
  searchVector(
    query: readonly number[],
    limit: number,
    filter: Readonly<Record<string, number>> | undefined,
  ): Promise<readonly string[]>;
  close(): Promise<void>;
}

const NS = ["bench"];

export function holdfastStore(name: string, filling: Store, reopened?: () => Store): StoreContender {
  let store = filling;
  const contender: { lastMs: number | undefined } = { lastMs: undefined };
  return Object.assign(contender, {
    name,
    fill: async (items: readonly BenchItem[]) =>
      void (await store.putBatch(items.map((item) => ({ namespace: NS, ...item })))),
    filled: async () => {
      if (reopened === undefined) return;
      await store.close();
      store = reopened();
      await store.connect();
    },
    put: ({ key, value, embedding }: BenchItem) => store.putWithEmbedding(NS, key, value, { embedding }),
    get: (key: string) => store.get(NS, key),
    searchText: (query: string) => store.search(NS, query),
    searchVector: async (query: readonly number[], limit: number, filter?: Readonly<Record<string, number>>) => {
      const start = performance.now();
      const hits = await store.searchByEmbedding(NS, { query, limit, ...(filter !== undefined && { filter }) });
      contender.lastMs = performance.now() - start;
      return hits.map(({ key }) => key);
    },
    close: () => store.close(),
  });
}

/** Their stores embed texts: the vector of a text is looked up here, and a query is given as text. */
class Lookup {
  readonly #vectors = new Map<string, readonly number[]>();
  add(text: string, vector: readonly number[]): void {
    this.#vectors.set(text, vector);
  }
  embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.resolve(texts.map((text) => [...(this.#vectors.get(text) ?? [])]));
  }
  embedQuery(text: string): Promise<number[]> {
    return Promise.resolve([...(this.#vectors.get(text) ?? [])]);
  }
}

/** What both LangGraph stores have. */
interface LangGraphStore {
  batch(operations: never): Promise<unknown>;
  get(namespace: string[], key: string): Promise<unknown>;
  search(
    namespace: string[],
    options: { query: string; limit: number; filter?: Record<string, number> },
  ): Promise<readonly { readonly key: string }[]>;
}

interface LangGraphContender extends StoreContender {
  putAll(items: readonly BenchItem[]): Promise<void>;
}

function langgraph(
  name: string,
  store: LangGraphStore,
  lookup: Lookup,
  close: () => Promise<void>,
): LangGraphContender {
  const contender: { lastMs: number | undefined } = { lastMs: undefined };
  const put = ({ key, value, embedding }: BenchItem) => {
    lookup.add(String(value["text"]), embedding);
    return { namespace: [...NS], key, value: { ...value }, index: ["text"] };
  };
  const putAll = async (items: readonly BenchItem[]): Promise<void> =>
    void (await store.batch(items.map(put) as never));
  return Object.assign(contender, {
    name,
    putAll,
    fill: putAll,
    filled: async () => undefined,
    put: async (item: BenchItem) => store.batch([put(item)] as never),
    get: (key: string) => store.get([...NS], key),
    // Theirs has no search by words where there are vectors.
    searchText: async () => undefined,
    searchVector: async (query: readonly number[], limit: number, filter?: Readonly<Record<string, number>>) => {
      lookup.add("the question", query);
      const start = performance.now();
      const hits = await store.search([...NS], {
        query: "the question",
        limit,
        ...(filter && { filter: { ...filter } }),
      });
      contender.lastMs = performance.now() - start;
      return hits.map(({ key }) => key);
    },
    close,
  });
}

export function langgraphMemory(): StoreContender {
  const lookup = new Lookup();
  const store = new LangGraphMemory({ index: { dims: 384, embeddings: lookup as never, fields: ["text"] } });
  return langgraph("langgraph memory", store as unknown as LangGraphStore, lookup, async () => undefined);
}

/** How many of their batches are in flight at once. */
const FILLERS = 8;

/**
 * Their graph index is made when the items are there, as ours is: a live one is
 * filled ten times as slowly. Searches and puts meet it as their `setup` makes it.
 */
export async function langgraphPostgres(dsn: string, dims: number): Promise<StoreContender> {
  const lookup = new Lookup();
  const store = new PostgresStore({
    connectionOptions: dsn,
    schema: "langgraph",
    index: { dims, embed: lookup as never, fields: ["text"] },
  } as never);
  await store.setup();
  const contender = langgraph("langgraph postgres", store as unknown as LangGraphStore, lookup, async () => undefined);
  const made = await onServer(dsn, VECTOR_INDEXES);
  for (const { name } of made) await onServer(dsn, `DROP INDEX ${name}`);
  let isFilling = false;
  const endFilling = async (): Promise<void> => {
    if (isFilling) await setOnServer(dsn, "RESET synchronous_commit");
    isFilling = false;
  };
  return Object.assign(contender, {
    fill: async (items: readonly BenchItem[]) => {
      // Each of their statements is a transaction. Only while it is filled, commits do not wait for
      // the disk.
      if (!isFilling) await setOnServer(dsn, "SET synchronous_commit = off");
      isFilling = true;
      const each = Math.ceil(items.length / FILLERS);
      const parts = Array.from({ length: FILLERS }, (_, at) => items.slice(at * each, (at + 1) * each));
      await Promise.all(parts.map((part) => contender.putAll(part)));
    },
    filled: async () => {
      await endFilling();
      for (const { definition } of made) await onServer(dsn, definition);
      await onServer(dsn, "ANALYZE");
    },
    close: async () => {
      await endFilling();
      await store.stop();
    },
  });
}

const VECTOR_INDEXES = `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
  FROM pg_index WHERE indrelid = 'langgraph.store_vectors'::regclass AND pg_get_indexdef(indexrelid) LIKE '%USING hnsw%'`;

interface IndexRow {
  readonly name: string;
  readonly definition: string;
}

async function onServer(dsn: string, sql: string): Promise<readonly IndexRow[]> {
  const client = new Client({ connectionString: dsn });
  await client.connect();
  try {
    return (await client.query<IndexRow>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** For all sessions, those that are open included. */
async function setOnServer(dsn: string, setting: string): Promise<void> {
  await onServer(dsn, `ALTER SYSTEM ${setting}`);
  await onServer(dsn, "SELECT pg_reload_conf()");
}

/** A database without the extension. Its name is added to the server's address. */
export async function databaseWithoutExtension(dsn: string): Promise<string> {
  await onServer(dsn, "CREATE DATABASE plain TEMPLATE template0");
  const there = new URL(dsn);
  there.pathname = "/plain";
  return there.href;
}
