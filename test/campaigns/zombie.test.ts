import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { wakeZombie, ZOMBIE_MOMENTS } from "../processes/zombie.ts";
import { reportCampaign } from "./report.ts";

const ROUNDS = 10;

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)("%s: a lease holder that wakes up too late is refused every time", async (backend) => {
  const began = performance.now();
  let woken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const moment of ZOMBIE_MOMENTS) {
      const storage = await sharedOnDisk(backend);
      await wakeZombie(programs, storage.url, moment);
      await storage.dispose();
      woken++;
    }
  }
  reportCampaign(`zombie, ${backend}`, began, "every late save refused with CONFLICT, nothing of it seen", {
    "holders stopped past their time": woken,
  });
  expect(woken).toBe(ROUNDS * ZOMBIE_MOMENTS.length);
});
