import { afterAll, beforeAll, expect, test } from "vitest";
import { KILLED_BACKENDS } from "../processes/disk-backends.ts";
import { killWriters } from "../processes/killed-writer.ts";
import { Programs } from "../processes/programs.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(KILLED_BACKENDS)("%s: 300 kills at random instants lose nothing that was acknowledged", async (backend) => {
  console.log(`${backend}: HOLDFAST_SEED=${seed}`);
  const began = performance.now();
  const report = await killWriters(programs, { backend, kills: 300, seed });
  reportCampaign(`kill -9, ${backend}`, began, `${report.kills} kills, seed ${seed}: 0 acknowledged lost`, {
    "acknowledged actions": report.acked,
    "kills inside an action": report.interrupted,
    "of them inside an edit": report.interruptedEdits,
    "of them applied before the kill": report.applied,
  });
  expect(report.kills).toBe(300);
  expect(report.interruptedEdits).toBeGreaterThan(0);
});
