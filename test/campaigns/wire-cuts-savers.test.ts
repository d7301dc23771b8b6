import { expect, test, vi } from "vitest";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { DIRECTIONS, startCuttingProxy } from "../network/cutting-proxy.ts";
import { wiredStorage } from "../network/network-backends.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { runRandomly } from "../saver/random-operations.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

vi.setConfig({ testTimeout: 3_600_000 });

const OPERATIONS = Number(process.env["HOLDFAST_RANDOM_OPERATIONS"] ?? 30_000);
const EVERY = 100;
const MOST_BYTES = 4000;

for (const backend of ["postgres", "redis"] as const) {
  await describeWithService(backend, (url) => {
    test("two savers never differ from the model while the wire is cut in every hundredth operation", async () => {
      const began = performance.now();
      const storage = wiredStorage(url);
      const proxy = await startCuttingProxy(storage);
      const random = seededRandom(seed);
      const checkpointers = [await storage.open(proxy.port, {}), await storage.open(proxy.port, {})];
      let [turn, cuts] = [0, 0];
      let armed: ReturnType<typeof proxy.cutAfter> | undefined;
      await runRandomly({
        seed,
        operations: OPERATIONS,
        open: () => saverOf(checkpointers[turn++ % 2] as (typeof checkpointers)[number], { slackBytes: 16 * 1024 }),
        now: () => 0,
        disturb: (operation) => {
          if (operation % EVERY !== 0) return;
          if (armed?.fired === true) cuts++;
          armed?.disarm();
          const direction = DIRECTIONS[random.below(DIRECTIONS.length)] ?? "to server";
          armed = proxy.cutAfter({ direction, bytes: random.below(MOST_BYTES) });
        },
      });
      for (const checkpointer of checkpointers) await checkpointer.close();
      await proxy.close();
      reportCampaign(`random savers, ${backend}, wire cuts`, began, `${OPERATIONS} operations, seed ${seed}`, { cuts });
      expect(cuts).toBeGreaterThan(OPERATIONS / EVERY / 2);
    });
  });
}
