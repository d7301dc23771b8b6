import { availableParallelism, loadavg } from "node:os";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { soak } from "../soak/soak.ts";
import { SOAKED_STORAGES } from "../soak/soaked-storages.ts";
import { reportCampaign } from "./report.ts";

/** How long, for each storage; they run side by side. */
const MINUTES = Number(process.env["HOLDFAST_SOAK_MINUTES"] ?? 30);

/** One storage alone, by its name. */
const ONLY = process.env["HOLDFAST_SOAK_ONLY"];

/** What a heap may grow by between a quarter of the time and the end before it counts as a leak. */
const HEAP_SLACK_BYTES = 32 * 1024 * 1024;

describe.concurrent("soak", () => {
  test.for(Object.entries(SOAKED_STORAGES).filter(([name]) => ONLY === undefined || ONLY === name))(
    "%s: every call ends, counts are exact, memory is flat",
    { timeout: (MINUTES + 10) * 60_000 },
    async ([backend, open]) => {
      const began = performance.now();
      const storage = await open();
      try {
        const report = await soak(storage, {
          durationMs: MINUTES * 60_000,
          boundMs: 60_000,
          disturbEveryMs: 15_000,
          random: seededRandom(seed),
        });
        const [early, late] = report.heapBytes;
        reportCampaign(`soak, ${backend}`, began, `seed ${seed}: every acknowledged save there once`, {
          saves: report.saves,
          "conflicts redone": report.conflicts,
          "threads proven": report.proven,
          "cuts and kills": report.disturbances,
          "ms the longest call": Math.round(report.longestMs),
          "MB of heap at a quarter": Math.round(early / 1e6),
          "MB at the end": Math.round(late / 1e6),
          "load a core": Math.round(((loadavg()[0] ?? 0) / availableParallelism()) * 10) / 10,
        });
        for (const [what, { calls, failures, longestMs }] of report.calls) {
          console.log(`  ${backend} ${what}: ${calls} calls, ${failures} failed, longest ${Math.round(longestMs)} ms`);
        }
        expect(late).toBeLessThan(early * 1.5 + HEAP_SLACK_BYTES);
      } finally {
        await storage.dispose();
      }
    },
  );
});
