import { describe, expect, test } from "vitest";
import { served, sqliteFolder } from "../http/served.ts";
import { wiredService } from "../http/wired.ts";
import { cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { reportCampaign } from "./report.ts";

const KINDS = [
  { connections: "kept connections", freshConnections: false },
  { connections: "new connections", freshConnections: true },
] as const;

describe.each(KINDS)("on $connections", ({ connections, freshConnections }) => {
  const cuts = { every: 1, offset: 0, onNewConnections: freshConnections };

  test("a save over HTTP is applied once, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    const { open, remove } = await sqliteFolder();
    const there = await served(open());
    const report = await cutSaves(wiredService(there, { freshConnections }), cuts);
    await there[Symbol.asyncDispose]();
    await remove();
    reportCampaign(
      `wire cuts, http in front of sqlite, saves on ${connections}`,
      began,
      `${report.cuts} cuts, one at every byte: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`,
      { "failed and were repeated": report.failed, "of them had been written": report.appliedUnseen },
    );
    expect(report.cuts).toBeGreaterThan(800);
    expect(report.appliedUnseen).toBeGreaterThan(100);
  });

  test("a load over HTTP gives the state or an error, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    await using there = await served();
    const report = await cutLoads(wiredService(there, { freshConnections }), cuts);
    const proven = `${report.cuts} cuts, one at every byte: the state or a retryable error, never "absent"`;
    reportCampaign(`wire cuts, http, loads on ${connections}`, began, proven, { failed: report.failed });
    expect(report.cuts).toBeGreaterThan(800);
  });
});
