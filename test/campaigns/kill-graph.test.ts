import { afterAll, beforeAll, expect, test } from "vitest";
import { killGraphs } from "../processes/killed-graph.ts";
import { Programs } from "../processes/programs.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(["sqlite", "file"] as const)("%s: 200 kills of a graph lose no step and double no write", async (backend) => {
  console.log(`${backend}: HOLDFAST_SEED=${seed}`);
  const began = performance.now();
  const report = await killGraphs(programs, { backend, kills: 200, seed });
  reportCampaign(`kill -9 of a graph, ${backend}`, began, `${report.kills} kills, seed ${seed}: no step lost`, {
    "graphs that came to their end": report.finished,
    "nodes that ran again": report.repeated,
  });
  expect(report.finished).toBeGreaterThan(0);
});
