import { expect, test } from "vitest";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { SERVER_BACKENDS, wiredStorage } from "./network-backends.ts";
import { cutGroups, cutLoads, cutSaves } from "./wire-cuts.ts";

/** `npm run test:chaos` cuts at every byte. */
const EVERY = 13;
const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY), onNewConnections: false };

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (url) => {
    test(`a save is applied once, at whatever byte of it the connection is cut (every ${EVERY}th from ${cuts.offset}, HOLDFAST_SEED=${seed})`, async () => {
      const report = await cutSaves(wiredStorage(url), cuts);
      expect(report.cuts).toBeGreaterThan(20);
      expect(report.failed).toBeGreaterThan(0);
    });

    if (backend !== "opensearch") {
      test("saves of several threads at once are each applied once, at whatever byte of them the connection is cut", async () => {
        const report = await cutGroups(wiredStorage(url), { ...cuts, every: 701 });
        expect(report.cuts).toBeGreaterThan(3);
        expect(report.failed).toBeGreaterThan(0);
      });
    }

    test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
      const report = await cutLoads(wiredStorage(url), cuts);
      expect(report.cuts).toBeGreaterThan(20);
      expect(report.failed).toBeGreaterThan(0);
    });
  });
}
