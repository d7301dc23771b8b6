import type {
  Item,
  ListNamespacesOperation,
  MatchCondition,
  SearchItem,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { isPlainObject } from "../../driver/options.ts";
import type { Page } from "../../driver/page.ts";
import type { BaseStore } from "../../store/base-store.ts";
import { encodeId, encodeNamespace } from "../../store/driver/namespaces.ts";
import type { Namespace } from "../../store/driver/store-driver.ts";
import { anySegment, type NamespacePattern, type StoreHit, type StoreItem } from "../../store/items/items.ts";
import type { StoreFilter } from "../../store/search/filter.ts";

const PER_PAGE = 1000;

/** How the texts of a question become a vector; absent where the store itself ranks. */
export type EmbedQuery = (query: string) => Promise<readonly number[]>;

/** Items of a store as LangGraph has them: copies that the caller may change. */
export function toItem({ namespace, key, value, createdAt, updatedAt }: StoreItem): Item {
  return {
    namespace: [...namespace],
    key,
    value: structuredClone(value) as Item["value"],
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}

/**
 * Ranked where there is a question: by meaning with LangGraph's `index`, else as
 * the store ranks. What has no rank comes behind, without a score, as with
 * LangGraph: a question orders items and leaves none out.
 */
export async function searchItems(
  store: BaseStore,
  operation: SearchOperation,
  embedQuery: EmbedQuery | undefined,
): Promise<SearchItem[]> {
  const { namespacePrefix, query, limit = 10, offset = 0 } = operation;
  const filter = operation.filter && translated(operation.filter);
  const scope = filter === undefined ? {} : { filter };
  const wanted = offset + limit;
  const ranked = query ? await rankedItems(store, namespacePrefix, query, scope, wanted, embedQuery) : [];
  const items: SearchItem[] = ranked.slice(0, wanted).map((hit) => withScore(hit));
  if (items.length < wanted) {
    const seen = new Set(ranked.map(encodeId));
    for await (const item of walk((page) => store.list(namespacePrefix, { ...scope, ...page, recursive: true }))) {
      if (seen.has(encodeId(item))) continue;
      if (items.push(toItem(item)) === wanted) break;
    }
  }
  return items.slice(offset);
}

async function rankedItems(
  store: BaseStore,
  namespace: Namespace,
  query: string,
  scope: { readonly filter?: StoreFilter },
  wanted: number,
  embedQuery: EmbedQuery | undefined,
): Promise<readonly StoreHit[]> {
  const limit = Math.min(wanted, PER_PAGE);
  if (limit === 0) return [];
  if (embedQuery === undefined)
    return store.capabilities.search ? store.search(namespace, { ...scope, query, limit }) : [];
  return store.searchByEmbedding(namespace, { ...scope, query: await embedQuery(query), limit });
}

const withScore = (hit: StoreHit): SearchItem => ({
  ...toItem(hit),
  ...(hit.score !== undefined && { score: hit.score }),
});

/** A name is one field of the value, dots and dollars included; an operator that LangGraph does not have is refused by the store. */
const translated = (filter: Readonly<Record<string, unknown>>): StoreFilter =>
  Object.fromEntries(
    Object.entries(filter)
      // As LangGraph has it, no operators at all leave nothing out.
      .filter(([, given]) => !(isPlainObject(given) && Object.keys(given as object).length === 0))
      .map(([name, given]) => [name.replaceAll(/[\\.$]/g, "\\$&"), given]),
  ) as StoreFilter;

export async function namespacesOf(store: BaseStore, operation: ListNamespacesOperation): Promise<string[][]> {
  const { matchConditions = [], maxDepth, offset = 0, limit = Number.POSITIVE_INFINITY } = operation;
  const patterns = (type: MatchCondition["matchType"]): readonly NamespacePattern[] =>
    matchConditions.filter(({ matchType }) => matchType === type).map(({ path }) => path.map(segment));
  const [[prefix = [], ...prefixes], [suffix = [], ...suffixes]] = [patterns("prefix"), patterns("suffix")] as const;
  const found = new Map<string, string[]>();
  for await (const namespace of walk((page) => store.listNamespaces({ prefix, suffix, ...page }))) {
    if (found.size >= offset + limit) break;
    const others = prefixes.every((each) => begins(namespace, each)) && suffixes.every((each) => ends(namespace, each));
    if (!others) continue;
    const shown = namespace.slice(0, maxDepth ?? namespace.length);
    found.set(encodeNamespace(shown), shown);
  }
  return [...found.values()].slice(offset);
}

const segment = (given: string): string | typeof anySegment => (given === "*" ? anySegment : given);

const begins = (namespace: Namespace, pattern: NamespacePattern): boolean =>
  namespace.length >= pattern.length &&
  pattern.every((each, index) => each === anySegment || each === namespace[index]);

const ends = (namespace: Namespace, pattern: NamespacePattern): boolean =>
  namespace.length >= pattern.length && begins(namespace.slice(namespace.length - pattern.length), pattern);

async function* walk<Each>(
  ask: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Each>>,
): AsyncGenerator<Each> {
  for (let cursor: string | undefined; ; ) {
    const page = await ask({ limit: PER_PAGE, ...(cursor !== undefined && { cursor }) });
    yield* page;
    cursor = page.cursor;
    if (cursor === undefined) return;
  }
}
