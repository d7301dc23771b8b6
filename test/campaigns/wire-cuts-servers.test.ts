import { describe, expect, test } from "vitest";
import { SERVER_BACKENDS, wiredStorage } from "../network/network-backends.ts";
import { cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

const KINDS = [
  { connections: "open connections", onNewConnections: false },
  { connections: "new connections", onNewConnections: true },
] as const;

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (url) => {
    describe.each(KINDS)("on $connections", ({ connections, onNewConnections }) => {
      const cuts = { every: 1, offset: 0, onNewConnections };

      test("a save is applied once, at whatever byte of it the connection is cut", async () => {
        const began = performance.now();
        const report = await cutSaves(wiredStorage(url), cuts);
        reportCampaign(
          `wire cuts, ${backend}, saves on ${connections}`,
          began,
          `${report.cuts} cuts, one at every byte: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`,
          { "failed and were repeated": report.failed, "of them had been written": report.appliedUnseen },
        );
        expect(report.cuts).toBeGreaterThan(200);
      });

      test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
        const began = performance.now();
        const report = await cutLoads(wiredStorage(url), cuts);
        const proven = `${report.cuts} cuts, one at every byte: the state or a retryable error, never "absent"`;
        reportCampaign(`wire cuts, ${backend}, loads on ${connections}`, began, proven, { failed: report.failed });
        expect(report.cuts).toBeGreaterThan(200);
      });
    });
  });
}
