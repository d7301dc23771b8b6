import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, describe, test } from "vitest";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testCheckpointer } from "../../testing/test-checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import type { RedisClient } from "./connect.ts";
import { logOptions, redisCheckpointer } from "./index.ts";
import { RedisLog } from "./log.ts";

await describeWithService("redis", (url) => {
  const cleaner = new Redis(url);
  afterAll(() => cleaner.disconnect());
  const freshPrefix = (): string => `test-${randomBytes(6).toString("hex")}:`;

  /** Everything under a prefix; what a suite leaves would be in the next one's way. */
  async function clear(prefix: string): Promise<void> {
    for await (const keys of cleaner.scanStream({ match: `${prefix}*`, count: 1000 })) {
      if ((keys as string[]).length > 0) await cleaner.unlink(...(keys as string[]));
    }
  }

  const clients: Readonly<Record<string, () => Promise<RedisClient>>> = {
    ioredis: async () => new Redis(url),
    "node-redis": async () => createClient({ url }),
  };

  describe.for(Object.entries(clients))("with %s", ([name, makeClient]) => {
    const open = async () => {
      const client = await makeClient();
      const prefix = freshPrefix();
      const cleanup = async () => {
        await clear(prefix);
        if ("destroy" in client) client.destroy();
        else client.disconnect();
      };
      return { client, prefix, cleanup };
    };

    testThreadLog({
      name: `redis with ${name}`,
      test,
      afterAll,
      create: async () => {
        const { client, prefix, cleanup } = await open();
        const log = async (): Promise<RedisLog> => {
          const made = new RedisLog(logOptions({ client, prefix }));
          await made.connect();
          return made;
        };
        return { subject: await log(), reopen: log, cleanup };
      },
    });

    testCheckpointer({
      name: `redis with ${name}`,
      test,
      afterAll,
      create: async () => {
        const { client, prefix, cleanup } = await open();
        const checkpointer = (): Checkpointer => redisCheckpointer({ client, prefix });
        return { subject: checkpointer(), reopen: async () => checkpointer(), cleanup };
      },
    });
  });
});
