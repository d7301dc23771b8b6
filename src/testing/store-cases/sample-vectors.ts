/** Numbers that look random and are the same in every run. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(random() || Number.MIN_VALUE)) * Math.cos(2 * Math.PI * random());
}

/** Unit vectors around a few centres, as embeddings of texts about a few topics are. */
export function clusteredVectors(
  count: number,
  dimension: number,
  clusters: number,
  seed: number,
): readonly number[][] {
  const random = seededRandom(seed);
  const direction = (): number[] => unit(Array.from({ length: dimension }, () => gaussian(random)));
  const centres = Array.from({ length: clusters }, direction);
  return Array.from({ length: count }, (_, index) => {
    const centre = centres[index % clusters] ?? [];
    const noise = direction();
    return unit(centre.map((number, at) => number + 0.9 * (noise[at] ?? 0)));
  });
}

function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  return vector.map((number) => number / length);
}

export function cosineOf(a: readonly number[], b: readonly number[]): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [a[index] ?? 0, b[index] ?? 0];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}

/** The indexes of the nearest vectors among those that `keep` allows, best first. */
export function nearest(
  vectors: readonly (readonly number[])[],
  query: readonly number[],
  limit: number,
  keep: (index: number) => boolean = () => true,
): readonly number[] {
  return vectors
    .map((vector, index) => ({ index, score: keep(index) ? cosineOf(vector, query) : Number.NEGATIVE_INFINITY }))
    .filter(({ score }) => score > Number.NEGATIVE_INFINITY)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ index }) => index);
}
