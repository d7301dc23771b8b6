import { InMemoryStore as LangGraphMemory } from "@langchain/langgraph-checkpoint";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
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

/** What both of theirs have. */
interface LangGraphStore {
  batch(operations: never): Promise<unknown>;
  get(namespace: string[], key: string): Promise<unknown>;
  search(
    namespace: string[],
    options: { query: string; limit: number; filter?: Record<string, number> },
  ): Promise<readonly { readonly key: string }[]>;
}

function langgraph(name: string, store: LangGraphStore, lookup: Lookup, close: () => Promise<void>): StoreContender {
  const contender: { lastMs: number | undefined } = { lastMs: undefined };
  const put = ({ key, value, embedding }: BenchItem) => {
    lookup.add(String(value["text"]), embedding);
    return { namespace: [...NS], key, value: { ...value }, index: ["text"] };
  };
  return Object.assign(contender, {
    name,
    fill: async (items: readonly BenchItem[]) => void (await store.batch(items.map(put) as never)),
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

export async function langgraphPostgres(dsn: string, dims: number): Promise<StoreContender> {
  const lookup = new Lookup();
  const store = new PostgresStore({
    connectionOptions: dsn,
    schema: "langgraph",
    index: { dims, embed: lookup as never, fields: ["text"] },
  } as never);
  await store.setup();
  return langgraph("langgraph postgres", store as unknown as LangGraphStore, lookup, async () => store.stop());
}
