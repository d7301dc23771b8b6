import { expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import { named, type Scenario, survive } from "./matrix.ts";
import { SITUATIONS } from "./situations.ts";
import { openStore } from "./stores.ts";

const ACKS: readonly ((write: number) => Acknowledgements)[] = [
  () => ({ kind: "at once" }),
  () => ({ kind: "late" }),
  (write) => ({ kind: "unacknowledged", write }),
  (write) => ({ kind: "dropped", write }),
  (write) => ({ kind: "straggling", write }),
];

/** A few of those that `npm run test:crash` goes through one by one. */
test.each([
  ["memory", 60],
  ["file", 20],
  ["sqlite", 20],
] as const)(
  "%s: %i times the power is cut somewhere, and another process brings the run to its end",
  async (name, count) => {
    console.log(`${name}: HOLDFAST_SEED=${seed}`);
    const store = await openStore(name);
    const random = seededRandom(seed);
    let cutOff = 0;
    for (let turn = 0; turn < count; turn++) {
      const situation = SITUATIONS[random.below(SITUATIONS.length)]!;
      const acks = ACKS[random.below(ACKS.length)]!(1 + random.below(6));
      const page = turn % 2 === 0;
      const scenario: Scenario = { ...situation, acks, page, cuts: [1 + random.below(80), 1 + random.below(80)] };
      const { stoppedAt } = await named(scenario, () => survive(store, scenario));
      if (stoppedAt.length > 0) cutOff++;
    }
    expect(cutOff, "most of the cuts must have met a run under way").toBeGreaterThan(count / 2);
    await store.dispose();
  },
);
