import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { openSharedLog, sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { gatherOften } from "./live-callers.ts";

/** A few of those that `npm run test:crash` and `npm run test:chaos` go through. */
const SAMPLE = 50;
const random = seededRandom(seed);
console.log(`HOLDFAST_SEED=${seed}`);

describe.each([2, 3])("%i callers of one thread who are all alive", (callers) => {
  test("are answered one after the other; nothing acts twice, and nothing is in doubt", async () => {
    const log = new MemoryLog();
    await gatherOften(() => log, { count: SAMPLE, callers, mayDie: false, random });
    await expect(log.tail("any")).rejects.toThrow("closed");
  });

  test("one of whom dies somewhere: the others go on, and nothing acts twice", async () => {
    const log = new MemoryLog();
    await gatherOften(() => log, { count: SAMPLE, callers, mayDie: true, random });
    await expect(log.tail("any")).rejects.toThrow("closed");
  });
});

test("sqlite: two callers of one thread, each with a connection of its own", async () => {
  const shared = await sharedOnDisk("sqlite");
  await gatherOften(() => openSharedLog(shared.url), { count: SAMPLE, callers: 2, mayDie: false, random });
  await shared.dispose();
});

for (const backend of ["postgres", "redis"] as const) {
  await describeWithService(backend, (server) => {
    test("two callers of one thread, each with connections of its own", async () => {
      const { url } = sharedOnServer(server);
      await gatherOften(() => openSharedLog(url), { count: SAMPLE, callers: 2, mayDie: false, random });
    });
  });
}
