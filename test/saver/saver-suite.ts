import { afterAll, expect, test } from "vitest";
import { saverInsteadOf, saverOf } from "../../src/saver/checkpoint-saver.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testSaver } from "../../src/testing/test-saver.ts";
import { seed } from "../property-seed.ts";
import { runRandomly } from "./random-operations.ts";
import type { SaverPlace } from "./saver-places.ts";

/**
 * Everything that a saver on one backend must show: the suite, and random
 * operations against the model. `every`: 1 runs all cases, 6 every sixth.
 */
export function proveSaver(name: string, makePlace: () => Promise<SaverPlace>, operations: number, every = 1): void {
  let cases = 0;
  testSaver({
    name,
    test: (title, run) => {
      if (cases++ % every === 0) test(title, run);
    },
    afterAll,
    create: async () => {
      const clock = manualClock();
      const { open, cleanup } = await makePlace();
      const saver = () => saverInsteadOf(open({ now: clock.now }), {});
      return { subject: saver(), clock, reopen: async () => saver(), cleanup };
    },
  });

  proveRandomly(name, makePlace, operations);
}

/** Random operations alone. Each is bounded by a second on the slowest storage. */
export function proveRandomly(name: string, makePlace: () => Promise<SaverPlace>, operations: number): void {
  test(
    `${name}: two savers on it never differ from the model in ${operations} random operations`,
    async () => {
      console.log(`random operations use HOLDFAST_SEED=${seed}`);
      const { open, cleanup } = await makePlace();
      const [first, second] = [open({ now: () => 0 }), open({ now: () => 0 })];
      let turn = 0;
      const counts = await runRandomly({
        seed,
        operations,
        open: () => saverOf(turn++ % 2 === 0 ? first : second, { slackBytes: 16 * 1024 }),
        now: () => 0,
      });
      expect(counts.reads).toBeGreaterThan(operations / 10);
      await cleanup();
    },
    60_000 + operations * 1000,
  );
}
