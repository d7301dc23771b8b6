import { expect, test } from "vitest";
import { cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { served } from "./served.ts";
import { wiredService } from "./wired.ts";

/** `npm run test:chaos` cuts at every byte. */
const EVERY = 13;
const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY), onNewConnections: false };

test(`a save over HTTP is applied once, at whatever byte of it the connection is cut (every ${EVERY}th from ${cuts.offset}, HOLDFAST_SEED=${seed})`, async () => {
  await using there = await served();
  const report = await cutSaves(wiredService(there), cuts);
  expect(report.cuts).toBeGreaterThan(50);
  expect(report.failed).toBeGreaterThan(50);
  expect(report.appliedUnseen, "some were written, and only the answer was cut").toBeGreaterThan(0);
});

test("a load over HTTP gives the state or an error, at whatever byte of it the connection is cut", async () => {
  await using there = await served();
  const report = await cutLoads(wiredService(there), cuts);
  expect(report.cuts).toBeGreaterThan(50);
  expect(report.failed).toBeGreaterThan(50);
});
