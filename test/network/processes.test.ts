import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Programs } from "../processes/programs.ts";
import { race } from "../processes/racing-writers.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { wakeZombie, ZOMBIE_MOMENTS } from "../processes/zombie.ts";
import { describeWithService } from "../services/with-service.ts";
import { SERVER_BACKENDS } from "./network-backends.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (server) => {
    test("four processes that increment one thread at once lose nothing", async () => {
      const { url } = sharedOnServer(server);
      expect(await race(programs, { url, processes: 4, increments: 25 })).toBeGreaterThan(0);
    });

    describe("a lease holder that was stopped past its time", () => {
      test.each(ZOMBIE_MOMENTS)("is refused when it was stopped while %s", async (moment) => {
        await wakeZombie(programs, sharedOnServer(server).url, moment);
      });
    });
  });
}
