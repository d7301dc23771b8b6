import { describe, expect, test } from "vitest";
import { SERVER_BACKENDS, wiredStorage } from "../network/network-backends.ts";
import { cutGroups, cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

/** A new connection begins with thousands of bytes that are the same every time: greeting, login, what the server is. */
const KINDS = [
  { connections: "open connections", onNewConnections: false, every: 1 },
  { connections: "new connections", onNewConnections: true, every: 7 },
] as const;

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (url) => {
    if (backend !== "opensearch") {
      test("saves of several threads at once are each applied once, at whatever byte of them the connection is cut", async () => {
        const began = performance.now();
        const report = await cutGroups(wiredStorage(url), { every: 13, offset: 0, onNewConnections: false });
        reportCampaign(
          `wire cuts, ${backend}, groups of saves`,
          began,
          `${report.cuts} cuts, one at every 13th byte: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`,
          { "with a save that failed": report.failed, "of them had been written": report.appliedUnseen },
        );
        expect(report.cuts).toBeGreaterThan(200);
      });
    }

    describe.each(KINDS)("on $connections", ({ connections, onNewConnections, every }) => {
      const cuts = { every, offset: seededRandom(seed).below(every), onNewConnections };
      const where = every === 1 ? "one at every byte" : `one at every ${every}th byte from ${cuts.offset}`;

      test("a save is applied once, at whatever byte of it the connection is cut", async () => {
        const began = performance.now();
        const report = await cutSaves(wiredStorage(url), cuts);
        reportCampaign(
          `wire cuts, ${backend}, saves on ${connections}`,
          began,
          `${report.cuts} cuts, ${where}: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`,
          { "failed and were repeated": report.failed, "of them had been written": report.appliedUnseen },
        );
        expect(report.cuts).toBeGreaterThan(200);
      });

      test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
        const began = performance.now();
        const report = await cutLoads(wiredStorage(url), cuts);
        const proven = `${report.cuts} cuts, ${where}: the state or a retryable error, never "absent"`;
        reportCampaign(`wire cuts, ${backend}, loads on ${connections}`, began, proven, { failed: report.failed });
        expect(report.cuts).toBeGreaterThan(200);
      });
    });
  });
}
