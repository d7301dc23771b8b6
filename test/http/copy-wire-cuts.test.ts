import { afterEach, expect, test, vi } from "vitest";
import { cutCopies } from "../cli/cut-copies.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";

afterEach(() => vi.restoreAllMocks());

/** `npm run test:chaos` cuts at every byte. */
const EVERY = 701;
const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY) };

test.each(["from", "to"] as const)(
  `a copy %s a service whose wire is cut is whole when it is run again (every ${EVERY}th byte from ${cuts.offset}, HOLDFAST_SEED=${seed})`,
  async (service) => {
    const report = await cutCopies({ service, ...cuts });
    expect(report.cuts).toBeGreaterThan(10);
    expect(report.failed).toBeGreaterThan(10);
  },
);
