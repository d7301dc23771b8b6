import { expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { saveThroughOutages } from "./killed-server.ts";
import { LIFETIME_MS, SERVER_BACKENDS, START_SERVER } from "./network-backends.ts";

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, () => {
    test(`saves survive a server that is killed and started again (HOLDFAST_SEED=${seed})`, async () => {
      await using server = await START_SERVER[backend]();
      const outages = {
        writers: 4,
        savesPerWriter: 40,
        pauseMs: 100,
        upMs: LIFETIME_MS[backend],
        downMs: 500,
        random: seededRandom(seed),
      };
      const report = await saveThroughOutages(server, outages);
      expect(report.saves).toBe(160);
      expect(report.kills).toBeGreaterThan(0);
    });
  });
}
