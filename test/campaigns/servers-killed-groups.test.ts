import { afterAll, beforeAll, expect, test } from "vitest";
import { killGroups } from "../processes/killed-group.ts";
import { Programs } from "../processes/programs.ts";
import { sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

async function campaign(backend: string, url: string): Promise<void> {
  const began = performance.now();
  const report = await killGroups(programs, { url, kills: 100, seed });
  reportCampaign(
    `kill -9 inside groups, ${backend}`,
    began,
    `${report.kills} kills, seed ${seed}: 0 acknowledged lost`,
    {
      "acknowledged saves": report.acked,
      "saves that were there unseen": report.appliedUnseen,
    },
  );
  expect(report.appliedUnseen).toBeGreaterThan(0);
}

test("sqlite: 100 kills inside groups of saves lose nothing that was acknowledged", async () => {
  const { url, dispose } = await sharedOnDisk("sqlite");
  await campaign("sqlite", url);
  await dispose();
});

for (const backend of ["postgres", "redis"] as const) {
  await describeWithService(backend, (server) => {
    test("100 kills inside groups of saves lose nothing that was acknowledged", () =>
      campaign(backend, sharedOnServer(server).url));
  });
}
