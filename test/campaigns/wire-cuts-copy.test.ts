import { afterEach, expect, test, vi } from "vitest";
import { cutCopies } from "../cli/cut-copies.ts";
import { reportCampaign } from "./report.ts";

afterEach(() => vi.restoreAllMocks());

/** Only at every so manieth byte: `HOLDFAST_CUT_EVERY=50`, for a quick look. */
const every = Number(process.env["HOLDFAST_CUT_EVERY"] ?? 1);

test.each(["from", "to"] as const)(
  "a copy %s a service is whole when it is run again, at whatever byte the wire was cut",
  async (service) => {
    const began = performance.now();
    const { cuts, failed } = await cutCopies({ service, every, offset: 0 });
    const proven = `equal and no write id twice after a cut at every ${every === 1 ? "" : `${every}th `}byte`;
    reportCampaign(`wire cuts, copy ${service} http`, began, proven, { cuts, "ended the command": failed });
    expect(cuts).toBeGreaterThan(9000 / every);
    expect(failed).toBeGreaterThan(9000 / every);
  },
);
