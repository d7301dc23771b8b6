import { expect, test, vi } from "vitest";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { served } from "../http/served.ts";
import { wiredService } from "../http/wired.ts";
import { DIRECTIONS, startCuttingProxy } from "../network/cutting-proxy.ts";
import { SERVER_BACKENDS, wiredStorage } from "../network/network-backends.ts";
import type { WiredStorage } from "../network/wire-cuts.ts";
import { OciStandIn } from "../oci-stand-in/stand-in.ts";
import { wiredBucket } from "../oci-stand-in/test-bucket.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { wiredS3 } from "../s3/test-bucket.ts";
import { runRandomly } from "../saver/random-operations.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign, reportProgress } from "./report.ts";

vi.setConfig({ testTimeout: 7_200_000 });

const OPERATIONS = Number(process.env["HOLDFAST_RANDOM_OPERATIONS"] ?? 30_000);
const EVERY = 100;
const MOST_BYTES = 4000;
/** Most of such an operation is waiting: for a disk, a refresh, an answer. */
const LANES = 4;

interface Reached extends AsyncDisposable {
  readonly storage: WiredStorage;
}

function prove(name: string, reach: () => Promise<Reached>): void {
  test(`${name}: two savers never differ from the model while the wire is cut in every hundredth operation`, async () => {
    console.log(`${name}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    await using reached = await reach();
    const { storage } = reached;
    const proxy = await startCuttingProxy(storage);
    const random = seededRandom(seed);
    const checkpointers = [await storage.open(proxy.port, {}), await storage.open(proxy.port, {})];
    let [turn, cuts] = [0, 0];
    let armed: ReturnType<typeof proxy.cutAfter> | undefined;
    await runRandomly({
      seed,
      operations: OPERATIONS,
      lanes: LANES,
      open: () => saverOf(checkpointers[turn++ % 2] as (typeof checkpointers)[number], { slackBytes: 16 * 1024 }),
      now: () => 0,
      disturb: (operation) => {
        reportProgress(`${name}, wire cuts`, began, operation);
        if (operation % EVERY !== 0) return;
        if (armed?.fired === true) cuts++;
        armed?.disarm();
        const direction = DIRECTIONS[random.below(DIRECTIONS.length)] ?? "to server";
        armed = proxy.cutAfter({ direction, bytes: random.below(MOST_BYTES) });
      },
    });
    for (const checkpointer of checkpointers) await checkpointer.close();
    await proxy.close();
    reportCampaign(`random savers, ${name}, wire cuts`, began, `${OPERATIONS} operations, seed ${seed}`, { cuts });
    expect(cuts).toBeGreaterThan(OPERATIONS / EVERY / 2);
  });
}

const nothing = async (): Promise<void> => undefined;

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (url) => {
    prove(backend, async () => ({ storage: wiredStorage(url), [Symbol.asyncDispose]: nothing }));
  });
}
await describeWithService("s3", (url) => {
  prove("s3", async () => ({ storage: wiredS3(url), [Symbol.asyncDispose]: nothing }));
});
prove("oci", async () => {
  const standIn = await OciStandIn.start();
  return { storage: wiredBucket(standIn), [Symbol.asyncDispose]: () => standIn.close() };
});
prove("http", async () => {
  const there = await served();
  return { storage: wiredService(there), [Symbol.asyncDispose]: () => there[Symbol.asyncDispose]() };
});
