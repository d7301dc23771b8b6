import { expect, test } from "vitest";
import { deliverUnderKills } from "../processes/mailbox.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

/** `HOLDFAST_KILLS=50` makes it fewer. */
const KILLS = Number(process.env["HOLDFAST_KILLS"] ?? 300);

test.each(["sqlite", "file"] as const)(
  "%s: signals under many kills are taken in once, in order, none lost",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const storage = await sharedOnDisk(backend);
    const { kills, signals, repeats, effects, inDoubt } = await deliverUnderKills(storage.url, { kills: KILLS, seed });
    reportCampaign(
      `mailbox, ${backend}`,
      began,
      `seed ${seed}: every signal once, in order, none lost, 0 double effects`,
      {
        kills,
        signals,
        "of them sent twice": repeats,
        effects,
        "calls in doubt": inDoubt,
      },
    );
    expect(kills).toBe(KILLS);
    await storage.dispose();
  },
);
