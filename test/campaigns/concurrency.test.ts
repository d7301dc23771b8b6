import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { race } from "../processes/racing-writers.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)("%s: ten processes that each increment one thread 100 times lose nothing", async (backend) => {
  const storage = await sharedOnDisk(backend);
  const began = performance.now();
  const conflicts = await race(programs, { url: storage.url, processes: 10, increments: 100 });
  reportCampaign(`concurrency, ${backend}`, began, "10 processes x 100: 1000 increments present, 0 lost", {
    "conflicts seen and redone": conflicts,
  });
  expect(conflicts).toBeGreaterThan(0);
  await storage.dispose();
});
