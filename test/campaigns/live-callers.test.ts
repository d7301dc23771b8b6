import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { gatherOften } from "../crash/live-callers.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { openSharedLog, sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

/** Of two runs each: ten thousand runs on every storage. */
const GATHERINGS = 5_000;

async function campaign(name: string, open: () => ThreadLog): Promise<void> {
  const began = performance.now();
  console.log(`${name}: HOLDFAST_SEED=${seed}`);
  await gatherOften(open, { count: GATHERINGS, callers: 2, mayDie: false, random: seededRandom(seed) });
  const proven = `${2 * GATHERINGS} runs of two live callers, seed ${seed}: nothing acted twice, nothing was in doubt`;
  reportCampaign(`live callers, ${name}`, began, proven, {});
}

test("sqlite: two live callers on one thread, ten thousand runs", async () => {
  const shared = await sharedOnDisk("sqlite");
  await campaign("sqlite", () => openSharedLog(shared.url));
  await shared.dispose();
});

for (const backend of ["postgres", "redis"] as const) {
  await describeWithService(backend, (server) => {
    test("two live callers on one thread, ten thousand runs", async () => {
      const { url } = sharedOnServer(server);
      await campaign(backend, () => openSharedLog(url));
    });
  });
}

test.each([2, 3])("memory: %i live callers, one of whom dies somewhere", async (callers) => {
  const began = performance.now();
  const log = new MemoryLog();
  await gatherOften(() => log, { count: 2_000, callers, mayDie: true, random: seededRandom(seed) });
  reportCampaign(`dying callers, ${callers}`, began, `2000 gatherings, seed ${seed}: the others went on`, {});
  await expect(log.tail("any")).rejects.toThrow("closed");
});
