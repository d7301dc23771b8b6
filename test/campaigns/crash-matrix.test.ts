import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Scenario, surviveEverywhere, surviveSilence } from "../crash/matrix.ts";
import { SITUATIONS } from "../crash/situations.ts";
import { openStore, STORES } from "../crash/stores.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

/** Those that save after each iteration, which is the default, go to the disk; the others are the same above the driver. */
const onDisk = SITUATIONS.filter(({ story }) => story.every === 1);

const named = (situation: Omit<Scenario, "cuts">): [string, Omit<Scenario, "cuts">] => {
  const { kind, tools, every } = situation.story;
  return [`${tools} ${kind} tools, saved every ${every}, back by ${situation.back}`, situation];
};

describe.each(STORES)("%s: cut off at every await point, a run always comes to its end", (name) => {
  const began = performance.now();
  const points = new Map<string, number>();
  const situations = (name === "memory" ? SITUATIONS : onDisk).map(named);
  let [scenarios, cutTwice, survived] = [0, 0, 0];
  const count = (stoppedAt: readonly string[]): void => {
    scenarios++;
    if (stoppedAt.length > 1) cutTwice++;
    for (const point of stoppedAt) points.set(point, (points.get(point) ?? 0) + 1);
  };
  beforeAll(() => console.log(`${name}: HOLDFAST_SEED=${seed}`));

  test.each(situations)("%s", async (_, situation) => {
    const store = await openStore(name);
    const late = { ...situation, acks: { kind: "late" }, page: true } as const;
    const silences = ["unacknowledged", "dropped", "straggling"] as const;
    // Side by side: while the processes of one wait for a clock or a disk, those of another go on.
    await Promise.all([
      surviveEverywhere(store, situation, seededRandom(seed), count),
      surviveEverywhere(store, late, seededRandom(seed + 1), count),
      ...silences.map((kind) => surviveSilence(store, situation, kind, count)),
    ]);
    await store.dispose();
    survived++;
  });

  afterAll(() => {
    expect(survived, "situations that were survived").toBe(situations.length);
    const proven = `${scenarios} scenarios, seed ${seed}: every run came to its end, every promise held`;
    reportCampaign(`crash matrix, ${name}`, began, proven, {
      "cut off twice": cutTwice,
      "kinds of await point": points.size,
    });
    for (const [point, times] of [...points].sort()) console.log(`  ${String(times).padStart(5)}  ${point}`);
    expect(scenarios).toBeGreaterThan(4_000);
  });
});
