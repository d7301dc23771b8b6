import { expect, test } from "vitest";
import { deliverUnderKills } from "../processes/mailbox.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign, secondsSince } from "./report.ts";

/** `HOLDFAST_KILLS=50` makes it fewer. */
const KILLS = Number(process.env["HOLDFAST_KILLS"] ?? 300);

/** A long run that is ended before its end has shown so much. */
const REPORT_EVERY = 25;

test.each(["sqlite", "file"] as const)(
  "%s: signals under many kills are taken in once, in order, none lost",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const storage = await sharedOnDisk(backend);
    const { kills, signals, repeats, effects, inDoubt } = await deliverUnderKills(storage.url, {
      kills: KILLS,
      seed,
      onKill: (count) => {
        if (count % REPORT_EVERY === 0) console.log(`${backend}: ${count} kills in ${secondsSince(began)} s`);
      },
    });
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
