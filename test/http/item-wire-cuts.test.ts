import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { DIRECTIONS, startCuttingProxy } from "../network/cutting-proxy.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { servedStore } from "./served-store.ts";

const EVERY = 31;
const offset = seededRandom(seed).below(EVERY);

test(`an update over HTTP counts once, at whatever byte of it the connection is cut (every ${EVERY}th from ${offset}, HOLDFAST_SEED=${seed})`, async () => {
  await using there = await servedStore(new InMemoryStore());
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  const retry = { attempts: 4, baseDelayMs: 1 };
  const client = there.client({ baseUrl: `http://127.0.0.1:${proxy.port}`, timeoutMs: 30_000, retry });
  await client.connect();
  let [updates, cuts] = [0, 0];
  for (const direction of DIRECTIONS) {
    for (let bytes = offset; ; bytes += EVERY) {
      const cut = proxy.cutAfter({ direction, bytes });
      expect(await client.update<number>(["counts"], "n", (n = 0) => n + 1)).toMatchObject({ value: ++updates });
      cut.disarm();
      expect(await there.behind.getItem(["counts"], "n")).toMatchObject({ value: updates });
      if (!cut.fired) break;
      cuts++;
    }
  }
  expect(cuts).toBeGreaterThan(30);
  await client.close();
  await proxy.close();
});
