import {
  type GetOperation,
  type IndexConfig,
  BaseStore as LangGraphBaseStore,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { fixedUrl } from "../../backends/open.ts";
import { openStore } from "../../backends/open-store.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { invalid, isPlainObject } from "../../driver/options.ts";
import { assertKnownOptions } from "../../internal/known-options.ts";
import { BaseStore } from "../../store/base-store.ts";
import { assertKey, assertNamespace, encodeId } from "../../store/driver/namespaces.ts";
import { MOST_CHANGES } from "../../store/driver/store-driver.ts";
import { activeHoldsIn, assertItemNotHeld } from "../../store/holds.ts";
import type { PutEntry } from "../../store/items/items.ts";
import { checkedTimeout } from "../../store/items/store-options.ts";
import { GraphEmbeddings, textsToIndex } from "./store-index.ts";
import { type EmbedQuery, namespacesOf, searchItems, toItem } from "./store-looking.ts";

export interface LangGraphStoreOptions {
  /** As LangGraph's own stores take it: the embeddings, their length, and what of a value is embedded. @default the store's own `embedder`, if any */
  readonly index?: IndexConfig;
  /** How long the embeddings of `index` may take for a question, or for a hundred texts. @default 60_000 */
  readonly embedTimeoutMs?: number;
}

/**
 * LangGraph's store on any store of this package. What LangGraph promises of a
 * batch holds: what it reads is what was there before it writes, of two writes to
 * one name the last counts, and where one operation cannot be carried out, nothing
 * of the batch is written.
 */
export class LangGraphStore extends LangGraphBaseStore {
  readonly #opening: OpenOnce<BaseStore>;
  readonly #isOwn: boolean;
  readonly #index: IndexConfig | undefined;
  readonly #embeddings: GraphEmbeddings | undefined;

  constructor(open: () => Promise<BaseStore>, options: LangGraphStoreOptions & { readonly isOwn: boolean }) {
    super();
    if (typeof open !== "function") {
      throw new TypeError("write toLangGraphStore(…), which takes a store of holdfast, or the URL of one");
    }
    this.#opening = new OpenOnce(open);
    this.#isOwn = options.isOwn;
    this.#index = checkedIndex(options.index);
    const timeoutMs = checkedTimeout("embedTimeoutMs", options.embedTimeoutMs) ?? 60_000;
    this.#embeddings = this.#index && new GraphEmbeddings(this.#index, timeoutMs);
  }

  /** The store beneath: versions, ends of items, `update`, text search. */
  store(): Promise<BaseStore> {
    return this.#opening.get();
  }

  get indexConfig(): IndexConfig | undefined {
    return this.#index;
  }

  override async start(): Promise<void> {
    await (await this.#opening.get()).connect();
  }

  /** Closes what was opened here; a store that was handed in stays open. It is opened anew by the next use. */
  override async stop(): Promise<void> {
    const store = this.#isOwn ? await this.#opening.opened() : undefined;
    if (store === undefined) return;
    this.#opening.forget();
    await store.close();
  }

  async close(): Promise<void> {
    await this.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** So that printing a config does not walk through a connection. */
  toJSON(): string {
    return "[LangGraphStore]";
  }

  override async batch<Ops extends readonly Operation[]>(operations: Ops): Promise<OperationResults<Ops>> {
    const store = await this.#opening.get();
    const puts = lastPuts(operations.filter(isPut));
    const entries = puts.filter(({ value }) => value !== null);
    const prepared = entries.length === 0 ? [] : await this.#entries(entries);
    const results = await this.#read(store, operations);
    const removals = puts.filter(({ value }) => value === null);
    // Alone, a removal looks for holds itself; beside others, it is refused before anything is written.
    if (removals.length > 0 && puts.length > 1) await assertNoneHeld(store, removals);
    for (let at = 0; at < prepared.length; at += MOST_CHANGES) {
      await store.putBatch(prepared.slice(at, at + MOST_CHANGES));
    }
    for (const { namespace, key } of removals) await store.delete(namespace, key);
    return results as OperationResults<Ops>;
  }

  /** Reads beside one another, and those by name in one. Puts have no result. */
  async #read(store: BaseStore, operations: readonly Operation[]): Promise<unknown[]> {
    const gets = operations.filter(isGet);
    const found = gets.length === 0 ? [] : await store.getItems(gets.map(({ namespace, key }) => ({ namespace, key })));
    const byGet = new Map(gets.map((get, at) => [get, found[at]]));
    return Promise.all(
      operations.map(async (operation) => {
        if (isGet(operation)) {
          const item = byGet.get(operation);
          return item === undefined ? null : toItem(item);
        }
        if (isSearch(operation)) return searchItems(store, operation, this.#embedQuery);
        return isPut(operation) ? null : namespacesOf(store, operation as ListNamespacesOperation);
      }),
    );
  }

  get #embedQuery(): EmbedQuery | undefined {
    const embeddings = this.#embeddings;
    return embeddings && ((query) => embeddings.ofQuery(query));
  }

  async #entries(puts: readonly PutOperation[]): Promise<readonly PutEntry[]> {
    const index = this.#index;
    const entries = puts.map(({ namespace, key, value, index: fields }): PutEntry => {
      if (!isPlainObject(value)) throw invalid("a value is an object; null deletes the item");
      const entry = { namespace, key, value };
      if (fields === false) return { ...entry, index: false };
      const paths = fields ?? index?.fields ?? (index === undefined ? undefined : ["$"]);
      return paths === undefined ? entry : { ...entry, index: { text: textsToIndex(value, paths).join("\n") } };
    });
    return this.#embeddings === undefined ? entries : embedded(this.#embeddings, entries);
  }
}

/** An item without any text has no vector. */
async function embedded(embeddings: GraphEmbeddings, entries: readonly PutEntry[]): Promise<readonly PutEntry[]> {
  const textOf = ({ index: given }: PutEntry): string =>
    typeof given === "object" && "text" in given ? given.text.trim() : "";
  const texts = [...new Set(entries.map(textOf).filter((text) => text !== ""))];
  if (texts.length === 0) return entries;
  const vectors = await embeddings.ofTexts(texts);
  return entries.map((entry) => {
    const embedding = vectors.get(textOf(entry));
    return embedding === undefined ? entry : { ...entry, embedding };
  });
}

function checkedIndex(index: IndexConfig | undefined): IndexConfig | undefined {
  if (index === undefined) return undefined;
  const { dims, embeddings } = index;
  if (!(Number.isInteger(dims) && dims > 0)) throw invalid("index.dims must be how many numbers a vector has");
  const isModel = [embeddings?.embedQuery, embeddings?.embedDocuments].every((method) => typeof method === "function");
  if (!isModel) throw invalid("index.embeddings must be LangChain's Embeddings: embedQuery() and embedDocuments()");
  return index;
}

async function assertNoneHeld(store: BaseStore, removals: readonly PutOperation[]): Promise<void> {
  if ((await activeHoldsIn(store)).isEmpty) return;
  for (const { namespace, key } of removals) await assertItemNotHeld(store, { namespace, key });
}

function lastPuts(puts: readonly PutOperation[]): readonly PutOperation[] {
  for (const { namespace, key } of puts) {
    assertNamespace(namespace);
    assertKey(key);
  }
  return [...new Map(puts.map((put) => [encodeId(put), put])).values()];
}

const isPut = (operation: Operation): operation is PutOperation => "value" in operation;
const isSearch = (operation: Operation): operation is SearchOperation => "namespacePrefix" in operation;
const isGet = (operation: Operation): operation is GetOperation =>
  "key" in operation && "namespace" in operation && !isPut(operation);

/**
 * A LangGraph store on any store of this package:
 *
 *     const graph = builder.compile({ store: toLangGraphStore("sqlite:./agents.db") });
 *
 * A URL is opened at the first use. A store that is handed in stays yours to close.
 */
export function toLangGraphStore(target: BaseStore | string, options: LangGraphStoreOptions = {}): LangGraphStore {
  assertKnownOptions("toLangGraphStore()", options, { index: "object", embedTimeoutMs: "number" });
  if (typeof target === "string") {
    const url = fixedUrl(target);
    return new LangGraphStore(() => openStore(url), { ...options, isOwn: true });
  }
  if (BaseStore.is(target)) return new LangGraphStore(async () => target, { ...options, isOwn: false });
  throw new TypeError("toLangGraphStore() takes a store of holdfast, or the URL of one");
}
