import { afterAll, describe, test } from "vitest";
import { findOldestRedis, HOW_TO_GET_OLDEST_REDIS } from "../services/oldest-redis.ts";
import { startRedis } from "../services/redis.ts";
import { describeWithService } from "../services/with-service.ts";
import { testOnRedis } from "./conformance.ts";
import { CLIENT_KINDS, OLDEST_CLIENT_KINDS } from "./fixtures.ts";

/**
 * The conformance suites at the lower ends of what is supported: the oldest
 * clients on today's server, and every client on the oldest server. (Today's
 * clients on today's server have files of their own.) `every` takes a sample.
 */
export async function testRangeEnds(every: number): Promise<void> {
  await describeWithService("redis", (url) => {
    for (const kind of OLDEST_CLIENT_KINDS) testOnRedis(kind, url, { every });
  });
  const program = await findOldestRedis();
  if (program === undefined) {
    describe.skip("Redis 6.2", () => test(`skipped: ${HOW_TO_GET_OLDEST_REDIS}`, () => undefined));
    return;
  }
  const server = await startRedis({ program });
  describe("Redis 6.2", () => {
    afterAll(() => server.stop());
    for (const kind of CLIENT_KINDS) testOnRedis(kind, server.url, { every, where: "redis 6.2" });
  });
}
