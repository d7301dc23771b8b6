import { afterAll, afterEach, expect, test, vi } from "vitest";
import { postgresqlStore } from "../../src/backends/postgres/store.ts";
import { redisStore } from "../../src/backends/redis/store.ts";
import type { Store } from "../../src/store/store.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";

const HOURS = 5 * 3_600_000;

afterEach(() => vi.useRealTimers());

/** From here on the clock of this process is that much off. */
const clockIsOff = (by: number): void =>
  void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + by, shouldAdvanceTime: true });

function testClocks(open: () => Store): void {
  for (const by of [HOURS, -HOURS]) {
    test(`a process whose clock is ${by / 3_600_000} hours off sees, keeps and ends items when every other process does`, async () => {
      const [right, off] = [open(), open()];
      const lasting = { ttlSeconds: 600 };
      const first = await right.put(["n"], "long", 1, lasting);
      await right.put(["n"], "ever", 1);
      clockIsOff(by);
      expect(await off.get(["n"], "long")).toBe(1);
      const second = await off.put(["n"], "long", 2, { ...lasting, expectedVersion: first.version });
      await off.put(["n"], "short", 1, { ttlSeconds: 1 });
      vi.useRealTimers();
      const kept = await right.getItem(["n"], "long");
      expect(kept?.value).toBe(2);
      expect(Math.abs(Number(kept?.expiresAt) - Date.now() - 600_000)).toBeLessThan(60_000);
      await vi.waitFor(async () => expect(await right.get(["n"], "short")).toBeUndefined(), { timeout: 10_000 });
      clockIsOff(by);
      expect(await off.get(["n"], "short")).toBeUndefined();
      await off.put(["n"], "short", 2, { expectedVersion: null });
      expect(await off.clearNamespace(["n"])).toBe(3);
      vi.useRealTimers();
      expect(await right.list(["n"])).toHaveLength(0);
      await right.put(["n"], "long", 3);
      await expect(off.put(["n"], "long", 4, { expectedVersion: second.version })).rejects.toMatchObject({
        code: "CONFLICT",
      });
      await Promise.all([right.close(), off.close()]);
    });
  }
}

await describeWithService("redis", (url) => {
  let places = 0;
  testClocks(() => redisStore({ url, prefix: `clocks-${process.pid}-${places++ >> 1}:` }));
});

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);
  let tablePrefix = "";
  let opened = 0;
  testClocks(() => {
    if (opened++ % 2 === 0) tablePrefix = prefix();
    return postgresqlStore({ dsn: url, schema, tablePrefix });
  });
});
