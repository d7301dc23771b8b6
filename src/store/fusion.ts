import { encodeId } from "./namespaces.ts";
import type { RankedItem } from "./store-driver.ts";

/**
 * One ranking out of two, by their scores: each is stretched to 0..1 and they are
 * added by weight. (By ranks alone, a weak embedding model drags good texts down.)
 */
export function fused(
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
export function stretched(byText: readonly RankedItem[]): readonly RankedItem[] {
  const most = byText[0]?.score ?? 0;
  return byText.map(({ item, score }) => ({ item, score: most > 0 ? score / most : 1 }));
}
