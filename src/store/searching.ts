import { invalid } from "../driver/options.ts";
import { type Page, page } from "../driver/page.ts";
import { StateError } from "../errors.ts";
import { encodeId } from "./driver/namespaces.ts";
import type { RankedItem, Scope } from "./driver/store-driver.ts";
import { openPosition, sealPosition } from "./items/cursors.ts";
import { decodeHit, decodeSome } from "./items/item-codec.ts";
import type { StoreHit, StoreSearchOptions } from "./items/items.ts";
import type { SealedBelow } from "./items/sealed-below.ts";
import type { StoreAccess } from "./items/store-access.ts";
import { checkedShare, checkedThreshold } from "./items/store-options.ts";
import { type Embedder, embed } from "./search/embedder.ts";
import { queryWords } from "./search/words.ts";
import type { Dimension } from "./writing/dimension.ts";
import type { VectorSource } from "./writing/vector-source.ts";

export interface SearchContext {
  readonly access: StoreAccess;
  readonly dimension: Dimension;
  readonly embedder: Embedder | undefined;
  readonly embedTimeoutMs: number;
  readonly textWeight: number;
  readonly sealedBelow: SealedBelow;
  readonly source: VectorSource;
}

/** A ranking is paged through this far: what is behind it is better found by a better question. */
const DEEPEST_HIT = 1000;
/**
 * At least this many candidates of each ranking are fused; the same on every page of a walk, because the scores
 * depend on it.
 */
const LEAST_CANDIDATES = 200;

/** Where a page of a ranking begins, and how many of each ranking were fused for the first one. */
type Place = readonly [from: number, candidates: number];

export async function rankedPage<Value>(
  context: SearchContext,
  scope: Scope,
  query: string,
  options: StoreSearchOptions,
  limit: number,
): Promise<Page<StoreHit<Value>>> {
  const mode = options.mode ?? (context.embedder === undefined ? "text" : "hybrid");
  const threshold = checkedThreshold(options.threshold);
  const textWeight = checkedShare("textWeight", options.textWeight) ?? context.textWeight;
  const walk = [scope, query, mode, textWeight, options.threshold ?? null];
  const begin: Place = [0, Math.min(DEEPEST_HIT, Math.max(LEAST_CANDIDATES, 4 * limit))];
  const [from, candidates] = options.cursor === undefined ? begin : (openPosition(walk, options.cursor) as Place);
  const until = Math.min(from + limit, DEEPEST_HIT);
  if (until <= from) return page<StoreHit<Value>>([], undefined);
  const wanted = mode === "hybrid" ? candidates : until + 1;
  const ranked = await rank(context, scope, query, mode, textWeight, wanted, options.signal);
  const hits = ranked.filter(({ score }) => score >= threshold);
  const shown = hits.slice(from, until);
  const { items, warnings } = await decodeSome(shown, decodeHit<Value>, () =>
    context.sealedBelow.warning(scope.namespace),
  );
  const hasMore = hits.length > until && until < DEEPEST_HIT;
  return page(items, hasMore ? sealPosition(walk, [until, candidates]) : undefined, warnings);
}

async function rank(
  context: SearchContext,
  scope: Scope,
  query: string,
  mode: NonNullable<StoreSearchOptions["mode"]>,
  textWeight: number,
  wanted: number,
  signal: AbortSignal | undefined,
): Promise<readonly RankedItem[]> {
  switch (mode) {
    case "text":
      return stretched(await byText(context, scope, query, wanted));
    case "semantic":
      return byMeaning(context, scope, query, wanted, signal);
    case "hybrid": {
      const [texts, vectors] = await Promise.all([
        byText(context, scope, query, wanted),
        byMeaning(context, scope, query, wanted, signal),
      ]);
      return fused(texts, vectors, textWeight);
    }
    default:
      throw invalid(`mode is "text", "semantic" or "hybrid", not ${JSON.stringify(mode)}`);
  }
}

async function byText(
  { access }: SearchContext,
  scope: Scope,
  query: string,
  limit: number,
): Promise<readonly RankedItem[]> {
  const words = queryWords(query);
  if (words.length === 0) return [];
  return access.call({ operation: "search" }, async (driver) => {
    if (driver.searchText !== undefined) return driver.searchText(scope, words, limit);
    throw lacking(driver.name, "search");
  });
}

async function byMeaning(
  { access, embedder, embedTimeoutMs, dimension, source }: SearchContext,
  scope: Scope,
  query: string,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<readonly RankedItem[]> {
  if (embedder === undefined) {
    throw invalid("a search by meaning needs the store's option `embedder`, or searchByEmbedding() with a vector");
  }
  if (query.trim() === "") return [];
  await access.guard({ operation: "search" }, () => source.assertSame());
  const made = await access.guard({ operation: "search" }, () =>
    embed(embedder, [query], { purpose: "search", timeoutMs: embedTimeoutMs, signal }),
  );
  const vector = await access.guard({ operation: "search" }, () => dimension.checked(made[0], "the embedder's vector"));
  return byVector(access, "search", scope, vector, limit);
}

export async function byVector(
  access: StoreAccess,
  operation: string,
  scope: Scope,
  vector: Float32Array,
  limit: number,
): Promise<readonly RankedItem[]> {
  return access.call({ operation }, async (driver) => {
    if (driver.searchVector !== undefined) return driver.searchVector(scope, vector, limit);
    throw lacking(driver.name, "semanticSearch");
  });
}

export const lacking = (name: string, capability: string): StateError =>
  new StateError("UNSUPPORTED", `${name}: this needs the capability "${capability}", which is false here`, {
    backend: name,
    capability,
  });

/**
 * One ranking out of two, by their scores: each is stretched to 0..1 and they are
 * added by weight. (By ranks alone, a weak embedding model drags good texts down.)
 */
function fused(
  byText: readonly RankedItem[],
  byVector: readonly RankedItem[],
  textWeight: number,
): readonly RankedItem[] {
  const scores = new Map<string, { readonly item: RankedItem["item"]; score: number }>();
  const add = (ranked: readonly RankedItem[], weight: number, least: number): void => {
    const most = ranked[0]?.score ?? 0;
    for (const { item, score } of ranked) {
      const share = weight * (most > least ? (score - least) / (most - least) : 1);
      const id = encodeId(item);
      const known = scores.get(id);
      if (known === undefined) scores.set(id, { item, score: share });
      else known.score += share;
    }
  };
  add(byText, textWeight, 0);
  add(byVector, 1 - textWeight, byVector.at(-1)?.score ?? 0);
  return [...scores.values()].sort((a, b) => b.score - a.score);
}

/** The best one gets 1: what a text index gives has no unit. */
function stretched(byText: readonly RankedItem[]): readonly RankedItem[] {
  const most = byText[0]?.score ?? 0;
  return byText.map(({ item, score }) => ({ item, score: most > 0 ? score / most : 1 }));
}
