import { afterAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { clusteredVectors, nearest } from "../../src/testing/store-cases/sample-vectors.ts";

const DIMENSION = 384;
const CLUSTERS = 200;
const NS = ["recall"];
/**
 * The position of an item in each run of `every`: the same in all clusters, so that a filter by it keeps some of each.
 */
const turnOf = (index: number, every: number): number => (index + Math.floor(index / CLUSTERS)) % every;

/** Which share of the vectors a filter keeps, spread evenly over the clusters: the worst case for a graph index. */
const SHARES = { "no filter": 1, "50 %": 2, "1 %": 100, "0.01 %": 10_000 } as const;

export interface RecallSubject {
  readonly name: string;
  readonly count: number;
  readonly open: () => Promise<Store>;
}

/** Registers: the ten nearest are found, filtered or not, and always as many as there are. */
export function testRecall({ name, count, open }: RecallSubject): void {
  describe(`${name}: recall among ${count} vectors of ${DIMENSION} numbers`, () => {
    // Questions are about the topics that there are.
    const all = clusteredVectors(count + 20, DIMENSION, CLUSTERS, 11);
    const vectors = all.slice(0, count);
    const queries = all.slice(count);
    let opening: Promise<Store> | undefined;
    const filled = (): Promise<Store> => {
      opening ??= fill();
      return opening;
    };
    const fill = async (): Promise<Store> => {
      const store = await open();
      for (let at = 0; at < count; at += 500) {
        const entries = vectors.slice(at, at + 500).map((embedding, index) => ({
          namespace: NS,
          key: `v${at + index}`,
          value: Object.fromEntries([2, 100, 10_000].map((every) => [`of${every}`, turnOf(at + index, every)])),
          embedding,
          index: false as const,
        }));
        await store.putBatch(entries);
      }
      return store;
    };
    afterAll(async () => (await opening)?.close());

    test.for(Object.entries(SHARES))("recall@10 with %s kept is at least 0.97", async ([, every]) => {
      const store = await filled();
      const keep = (index: number): boolean => every === 1 || turnOf(index, every) === 7 % every;
      const filter = every === 1 ? undefined : { [`of${every}`]: 7 % every };
      const matching = vectors.filter((_, index) => keep(index)).length;
      let found = 0;
      let wanted = 0;
      for (const query of queries) {
        const hits = await store.searchByEmbedding(NS, { query, limit: 10, ...(filter !== undefined && { filter }) });
        expect(hits.length).toBe(Math.min(10, matching));
        const best = new Set(nearest(vectors, query, 10, keep).map((index) => `v${index}`));
        found += hits.filter(({ key }) => best.has(key)).length;
        wanted += best.size;
      }
      expect(found / wanted).toBeGreaterThanOrEqual(0.97);
    });
  });
}
