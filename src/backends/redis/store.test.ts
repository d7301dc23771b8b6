import { Redis } from "ioredis";
import { afterAll, test } from "vitest";
import { clearPrefix, endClient, freshPrefix, IOREDIS, makeUser, NODE_REDIS } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Store } from "../../store/store.ts";
import { testStore } from "../../testing/test-store.ts";
import { redisStore } from "./store.ts";

await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  for (const { name, make } of [IOREDIS, NODE_REDIS]) {
    testStore({
      name: `redis with ${name}`,
      test,
      afterAll,
      // As a user with no more rights than docs/redis.md names.
      create: async () => {
        const prefix = freshPrefix();
        const { user, url: userUrl } = await makeUser(admin, url, prefix);
        const client = make(userUrl);
        const outage = async () => {
          await admin.call("ACL", ["SETUSER", user, "-evalsha", "-eval"]);
          return async () => void (await admin.call("ACL", ["SETUSER", user, "+evalsha", "+eval"]));
        };
        const cleanup = async () => {
          await clearPrefix(admin, prefix);
          await endClient(client);
          await admin.call("ACL", ["DELUSER", user]);
        };
        const open = (): Store => redisStore({ client, prefix });
        return { subject: open(), reopen: async () => open(), outage, cleanup };
      },
    });
  }
});
