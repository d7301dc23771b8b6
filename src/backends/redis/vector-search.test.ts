import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { clearPrefix, freshPrefix } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { redisStore } from "./store.ts";

const NS = ["places"];
/** On a half circle: the smaller the difference of two angles, the nearer. */
const at = (degrees: number): [number, number] => [
  Math.cos((degrees * Math.PI) / 180),
  Math.sin((degrees * Math.PI) / 180),
];

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  test("two instances that put, change and remove at random find by vector what a list of the items would give", async () => {
    console.log(`HOLDFAST_SEED=${seed}`);
    const random = seededRandom(seed);
    const prefix = freshPrefix();
    const stores = [redisStore({ url, prefix }), redisStore({ url, prefix })] as const;
    const model = new Map<string, { angle: number; group: number }>();
    let angle = 0;
    for (let step = 0; step < 240; step++) {
      const store = stores[random.below(2)] ?? stores[0];
      const key = `k${random.below(25)}`;
      const kind = random.below(10);
      if (kind < 3) {
        // No two have the same angle, so that there is one order.
        angle = (angle + 7.31) % 180;
        const [value, embedding] = [{ group: random.below(3) }, at(angle)];
        await store.putWithEmbedding(NS, key, value, embedding);
        model.set(key, { angle, group: value.group });
      } else if (kind === 3) {
        await store.delete(NS, key);
        model.delete(key);
      } else if (kind === 4) {
        await store.put(NS, key, { group: random.below(3) });
        model.delete(key);
      } else {
        const [asked, group] = [random.below(180) + 0.123, kind < 7 ? undefined : random.below(3)];
        const hits = await store.searchByEmbedding(NS, {
          query: at(asked),
          limit: 5,
          ...(group !== undefined && { filter: { group } }),
        });
        const wanted = [...model]
          .filter(([, item]) => group === undefined || item.group === group)
          .sort(([, a], [, b]) => Math.abs(a.angle - asked) - Math.abs(b.angle - asked))
          .slice(0, 5);
        expect(
          hits.map((hit) => [hit.key, hit.value]),
          `step ${step}`,
        ).toEqual(wanted.map(([name, item]) => [name, { group: item.group }]));
      }
    }
    for (const store of stores) await store.close();
    await clearPrefix(admin, prefix);
  });

  test("vectors that did not change are not read again", async () => {
    const prefix = freshPrefix();
    const client = new Redis(url);
    const store = redisStore({ client, prefix });
    const [count, length] = [300, 400];
    const vector = (index: number): number[] => Array.from({ length }, (_, place) => Math.sin(index * place + 1));
    await store.putBatch(
      Array.from({ length: count }, (_, index) => ({
        namespace: NS,
        key: `k${index}`,
        value: { even: index % 2 === 0 },
        embedding: vector(index),
      })),
    );
    const received = async (filter?: { even: boolean }): Promise<number> => {
      const before = client.stream.bytesRead;
      const [best] = await store.searchByEmbedding(NS, { query: vector(8), limit: 1, ...(filter && { filter }) });
      expect(best?.key).toBe("k8");
      return client.stream.bytesRead - before;
    };
    const all = count * length * Float32Array.BYTES_PER_ELEMENT;
    expect(await received()).toBeGreaterThan(all);
    expect(await received()).toBeLessThan(1000);
    // The fields that the filter looks at, once.
    expect(await received({ even: true })).toBeLessThan(all / 2);
    expect(await received({ even: true })).toBeLessThan(1000);
    await store.putWithEmbedding(NS, "k9", { even: false }, vector(9));
    expect(await received()).toBeLessThan(all / 2);
    await store.close();
    client.disconnect();
    await clearPrefix(admin, prefix);
  });

  test("beside a writer that never stops, a search finds what is there all the time, and what is written again and again", async () => {
    const prefix = freshPrefix();
    const [store, other] = [redisStore({ url, prefix }), redisStore({ url, prefix })];
    await store.putBatch(
      Array.from({ length: 40 }, (_, index) => ({
        namespace: NS,
        key: `still ${index}`,
        value: index,
        embedding: at(20 + index),
      })),
    );
    await other.putWithEmbedding(NS, "hot", 0, at(10));
    let [isOver, writes] = [false, 0];
    const writer = (async () => {
      while (!isOver) {
        writes++;
        await other.putWithEmbedding(NS, "hot", writes, at(10 + (writes % 5)));
        await other.putWithEmbedding(NS, `passing ${writes % 3}`, writes, at(60 + (writes % 40)));
        if (writes % 2 === 0) await other.delete(NS, `passing ${(writes + 1) % 3}`);
      }
    })();
    try {
      for (let asked = 0; asked < 60 || writes < 20; asked++) {
        const hits = await store.searchByEmbedding(NS, { query: at(8), limit: 4 });
        expect(hits.map(({ key }) => key)).toEqual(["hot", "still 0", "still 1", "still 2"]);
      }
    } finally {
      isOver = true;
      await writer;
    }
    for (const each of [store, other]) await each.close();
    await clearPrefix(admin, prefix);
  });
});
