import { afterAll, beforeAll, expect, test } from "vitest";
import { KILLED_BACKENDS } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { seed } from "../property-seed.ts";
import { whyNoDisks } from "./loop-image.ts";
import { cutPower } from "./power-cut.ts";
import { reportCampaign } from "./report.ts";

const CUTS = 25;
const obstacle = await whyNoDisks();
if (obstacle !== undefined) console.log(`CAMPAIGN power cut: skipped, ${obstacle}`);

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.skipIf(obstacle !== undefined).each(KILLED_BACKENDS)(
  "%s: a power cut at any instant loses nothing that was acknowledged",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const { cuts, acked, losses } = await cutPower(programs, { backend, cuts: CUTS, seed });
    const proven = `${cuts} cuts, seed ${seed}: ${losses.length} with a loss`;
    reportCampaign(`power cut, ${backend}`, began, proven, { "acknowledged actions": acked });
    expect(losses).toEqual([]);
  },
);

test.skipIf(obstacle !== undefined).each(KILLED_BACKENDS)(
  "%s: a power cut loses nothing that was acknowledged on a file system without a journal either",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const { cuts, acked, losses } = await cutPower(programs, { backend, cuts: CUTS, seed, hasJournal: false });
    const proven = `${cuts} cuts, seed ${seed}: ${losses.length} with a loss`;
    reportCampaign(`power cut without a journal, ${backend}`, began, proven, { "acknowledged actions": acked });
    expect(losses).toEqual([]);
  },
);

test
  .skipIf(obstacle !== undefined)
  .each(KILLED_BACKENDS.flatMap((backend) => [true, false].map((hasJournal) => ({ backend, hasJournal }))))(
  "$backend: a power cut loses no thread beside threads that are deleted, with a journal: $hasJournal",
  async ({ backend, hasJournal }) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const work = "threads that come and go";
    const { cuts, acked, losses } = await cutPower(programs, { backend, cuts: CUTS, seed, hasJournal, work });
    const proven = `${cuts} cuts, seed ${seed}: ${losses.length} with a loss`;
    const name = `power cut beside deletions, ${hasJournal ? "with" : "without"} a journal, ${backend}`;
    reportCampaign(name, began, proven, { "acknowledged actions": acked });
    expect(losses).toEqual([]);
  },
);

test.skipIf(obstacle !== undefined)("a store that does not sync loses acknowledged saves in these cuts", async () => {
  const began = performance.now();
  const { cuts, losses } = await cutPower(programs, { backend: "sqlite without sync", cuts: 10, seed });
  reportCampaign("power cut, control without sync", began, `${losses.length} of ${cuts} cuts with a loss`, {});
  expect(losses.length).toBeGreaterThan(0);
});
