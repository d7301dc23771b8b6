import { describe, expect, test } from "vitest";
import { cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { FAULTS, FaultSweep, nameOf, SCENARIOS } from "../oci-stand-in/fault-sweep.ts";
import { OciStandIn } from "../oci-stand-in/stand-in.ts";
import { wiredBucket } from "../oci-stand-in/test-bucket.ts";
import { reportCampaign } from "./report.ts";

const cuts = { every: 1, offset: 0, onNewConnections: false };

describe("the SDK against the stand-in", () => {
  test("a save is applied once, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    const standIn = await OciStandIn.start();
    const report = await cutSaves(wiredBucket(standIn), cuts);
    await standIn.close();
    reportCampaign(
      "wire cuts, oci, saves",
      began,
      `${report.cuts} cuts, one at every byte: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`,
      { "failed and were repeated": report.failed, "of them had been written": report.appliedUnseen },
    );
    expect(report.cuts).toBeGreaterThan(800);
  });

  test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    const standIn = await OciStandIn.start();
    const report = await cutLoads(wiredBucket(standIn), cuts);
    await standIn.close();
    const proven = `${report.cuts} cuts, one at every byte: the state or a retryable error, never "absent"`;
    reportCampaign("wire cuts, oci, loads", began, proven, { failed: report.failed });
    expect(report.cuts).toBeGreaterThan(800);
  });

  test("an error before or after the effect of any request changes nothing of what comes out", async () => {
    const began = performance.now();
    const sweep = await FaultSweep.prepare();
    let faults = 0;
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      for (const fault of FAULTS) {
        faults += await sweep.run(scenario, fault).catch((cause: unknown) => {
          throw new Error(`${name}: ${nameOf(fault)}`, { cause });
        });
      }
    }
    await sweep.close();
    reportCampaign("faults, oci", began, `${faults} requests failed: 0 lost, 0 doubled, 0 false conflicts`, {
      scenarios: Object.keys(SCENARIOS).length,
      "kinds of fault": FAULTS.length,
    });
    expect(faults).toBeGreaterThan(300);
  });
});
