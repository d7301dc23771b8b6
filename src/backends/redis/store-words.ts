import type { Scope } from "../../store/driver/store-driver.ts";
import { rarity, wordScore } from "../../store/search/bm25.ts";
import type { Argument } from "./port.ts";
import { asText } from "./replies.ts";
import type { Script } from "./scripts/script.ts";
import { COUNT_ITEMS, FIND_WORDS } from "./scripts/store-scripts.ts";
import { lexBounds } from "./store-layout.ts";

type Run = (script: Script, args: readonly Argument[]) => Promise<unknown>;

/** How many items of a word are read in one step, during which other callers wait. */
const ITEMS_PER_STEP = 10_000;
const MEMBER = /^[^\u0001]*\u0001([^\u0001\u0002]*\u0001[^\u0002]*)\u0002([\d.]+)\/(\d+)$/;

/** The ids of items with any of the words, best first, by BM25. The sorted set of words has everything it needs. */
export async function rankedByWords(
  run: Run,
  scope: Scope,
  words: readonly string[],
): Promise<readonly { readonly id: string; readonly score: number }[]> {
  const bounds = words.map((word) => lexBounds(scope, { before: `${word}\u0001` }));
  const [total, found] = await Promise.all([
    run(COUNT_ITEMS, lexBounds(scope)),
    run(FIND_WORDS, [String(ITEMS_PER_STEP), ...bounds.flat()]),
  ]);
  const all = Number(asText(total));
  const postings: (readonly Posting[])[] = [];
  for (const [at, members] of (found as readonly (readonly Buffer[])[]).entries()) {
    const own = [...members.flatMap(postingOf)];
    for (let step = members, end = bounds[at]?.[1] ?? "+"; step.length === ITEMS_PER_STEP; ) {
      const last = step.at(-1) ?? Buffer.alloc(0);
      const behind = Buffer.concat([Buffer.from("("), last]);
      [step = []] = (await run(FIND_WORDS, [String(ITEMS_PER_STEP), behind, end])) as readonly (readonly Buffer[])[];
      for (const member of step) own.push(...postingOf(member));
    }
    postings.push(own);
  }
  const lengths = new Map(postings.flat().map(({ id, length }) => [id, length]));
  const average = [...lengths.values()].reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.size) || 1;
  const scores = new Map<string, number>();
  for (const some of postings) {
    // Counted in another step, there may be fewer by now.
    const weight = rarity(Math.max(all, some.length), some.length);
    for (const { id, weight: count, length } of some) {
      scores.set(id, (scores.get(id) ?? 0) + wordScore(weight, count, length, average));
    }
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

interface Posting {
  readonly id: string;
  readonly weight: number;
  readonly length: number;
}

function postingOf(member: Buffer): readonly Posting[] {
  const [, id, weight, length] = MEMBER.exec(member.toString()) ?? [];
  return id === undefined ? [] : [{ id, weight: Number(weight), length: Number(length) }];
}
