import { expect, test } from "vitest";
import { saveThroughOutages } from "../network/killed-server.ts";
import { LIFETIME_MS, SERVER_BACKENDS, START_SERVER } from "../network/network-backends.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, () => {
    test("a thousand saves survive a server that is killed every few seconds", async () => {
      const began = performance.now();
      await using server = await START_SERVER[backend]();
      const outages = {
        writers: 4,
        savesPerWriter: 250,
        pauseMs: 400,
        upMs: Math.max(2_000, LIFETIME_MS[backend]),
        downMs: 2_000,
        random: seededRandom(seed),
      };
      const { saves, kills, failed, appliedUnseen } = await saveThroughOutages(server, outages);
      reportCampaign(`server killed, ${backend}`, began, `${saves} saves, seed ${seed}: each there once, 0 lost`, {
        kills,
        "saves that failed and were repeated": failed,
        "of them had been written": appliedUnseen,
      });
      expect(kills).toBeGreaterThan(0);
    });
  });
}
