import { expect, test } from "vitest";
import { surviveEverywhere, surviveSilence } from "../crash/matrix.ts";
import { SITUATIONS } from "../crash/situations.ts";
import { openStore, STORES } from "../crash/stores.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

/** Those that save after each iteration, which is the default, go to the disk; the others are the same above the driver. */
const onDisk = SITUATIONS.filter(({ story }) => story.every === 1);

test.each(STORES)("%s: cut off at every await point of every story, a run always comes to its end", async (name) => {
  console.log(`${name}: HOLDFAST_SEED=${seed}`);
  const began = performance.now();
  const random = seededRandom(seed);
  const points = new Map<string, number>();
  let [scenarios, cutTwice] = [0, 0];
  for (const situation of name === "memory" ? SITUATIONS : onDisk) {
    const store = await openStore(name);
    const count = (stoppedAt: readonly string[]): void => {
      scenarios++;
      if (stoppedAt.length > 1) cutTwice++;
      for (const point of stoppedAt) points.set(point, (points.get(point) ?? 0) + 1);
    };
    await surviveEverywhere(store, situation, random, count);
    await surviveEverywhere(store, { ...situation, acks: { kind: "late" } }, random, count);
    for (const kind of ["unacknowledged", "dropped", "straggling"] as const) {
      await surviveSilence(store, situation, kind, count);
    }
    await store.dispose();
  }
  const proven = `${scenarios} scenarios, seed ${seed}: every run came to its end, every promise held`;
  reportCampaign(`crash matrix, ${name}`, began, proven, {
    "cut off twice": cutTwice,
    "kinds of await point": points.size,
  });
  for (const [point, count] of [...points].sort()) console.log(`  ${String(count).padStart(5)}  ${point}`);
  expect(scenarios).toBeGreaterThan(4_000);
});
