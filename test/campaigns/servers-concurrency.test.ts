import { afterAll, beforeAll, expect, test } from "vitest";
import { SERVER_BACKENDS } from "../network/network-backends.ts";
import { Programs } from "../processes/programs.ts";
import { race } from "../processes/racing-writers.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (server) => {
    test("sixteen processes that each increment one thread 250 times lose nothing", async () => {
      const began = performance.now();
      const { url } = sharedOnServer(server);
      const conflicts = await race(programs, { url, processes: 16, increments: 250 });
      reportCampaign(`concurrency, ${backend}`, began, "16 processes x 250: 4000 increments present, 0 lost", {
        "conflicts seen and redone": conflicts,
      });
      expect(conflicts).toBeGreaterThan(0);
    });
  });
}
