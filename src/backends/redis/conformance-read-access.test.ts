import { Redis } from "ioredis";
import { afterAll, test } from "vitest";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { clearPrefix, freshPrefix, PATIENT } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { redisLogOptions } from "./checkpointer.ts";
import { RedisLog } from "./log.ts";

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  testThreadLog({
    name: "redis with read access",
    test,
    afterAll,
    create: async () => {
      const where = { url, prefix: freshPrefix(), ...PATIENT };
      const open = (): ReadThroughLog => {
        const reader = new RedisLog(redisLogOptions({ ...where, access: "read" }));
        return new ReadThroughLog(new RedisLog(redisLogOptions(where)), new ReadOnlyLog(reader));
      };
      return { subject: open(), reopen: async () => open(), cleanup: () => clearPrefix(admin, where.prefix) };
    },
  });
});
