import { afterAll, beforeAll, expect, test } from "vitest";
import { SERVER_BACKENDS } from "../network/network-backends.ts";
import { Programs } from "../processes/programs.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { wakeZombie, ZOMBIE_MOMENTS } from "../processes/zombie.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

const ROUNDS = 10;

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (server) => {
    test("a lease holder that wakes up too late is refused every time", async () => {
      const began = performance.now();
      let woken = 0;
      for (let round = 0; round < ROUNDS; round++) {
        for (const moment of ZOMBIE_MOMENTS) {
          await wakeZombie(programs, sharedOnServer(server).url, moment);
          woken++;
        }
      }
      reportCampaign(`zombie, ${backend}`, began, "every late save refused with CONFLICT, nothing of it seen", {
        "holders stopped past their time": woken,
      });
      expect(woken).toBe(ROUNDS * ZOMBIE_MOMENTS.length);
    });
  });
}
