import { afterAll, beforeAll, expect, test } from "vitest";
import { killGraphs } from "../processes/killed-graph.ts";
import { Programs } from "../processes/programs.ts";
import { type SharedStorage, sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle("killed-graph-program");
});
afterAll(() => programs.dispose());

const KILLS = Number(process.env["HOLDFAST_KILLS"] ?? 200);

function prove(name: string, open: () => Promise<SharedStorage>): void {
  test(`${name}: ${KILLS} kills of a graph lose no step and double no write`, async () => {
    console.log(`${name}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const { url, dispose } = await open();
    const report = await killGraphs(programs, { url, kills: KILLS, seed });
    reportCampaign(`kill -9 of a graph, ${name}`, began, `${report.kills} kills, seed ${seed}: no step lost`, {
      "graphs that came to their end": report.finished,
      "nodes that ran again": report.repeated,
    });
    expect(report.finished).toBeGreaterThan(0);
    await dispose();
  });
}

for (const backend of ["sqlite", "file"] as const) prove(backend, () => sharedOnDisk(backend));
await describeWithService("postgres", (url) => prove("postgres", async () => sharedOnServer(url)));
