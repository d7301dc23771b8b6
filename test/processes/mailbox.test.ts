import { expect, test } from "vitest";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { deliverUnderKills } from "./mailbox.ts";
import { sharedOnDisk, sharedOnServer } from "./shared-storage.ts";

const SAMPLE = 6;
const NAME = "three processes that are killed take every signal in once, in order, and lose none";

async function proven(url: string): Promise<void> {
  console.log(`HOLDFAST_SEED=${seed}`);
  const { signals, effects } = await deliverUnderKills(url, { kills: SAMPLE, seed });
  expect(signals).toBeGreaterThan(SAMPLE);
  expect(effects).toBeGreaterThan(0);
}

test(`sqlite: ${NAME}`, async () => {
  const storage = await sharedOnDisk("sqlite");
  await proven(storage.url);
  await storage.dispose();
}, 120_000);

// `npm test` has the server of the npm package; three minutes are for what needs none.
const SERVERS = process.env["HOLDFAST_TIER"] === "fast" ? [] : (["postgres", "redis"] as const);

for (const backend of SERVERS) {
  await describeWithService(backend, (server) => {
    test(NAME, () => proven(sharedOnServer(server).url), 120_000);
  });
}
