import { Redis } from "ioredis";
import { afterAll, test } from "vitest";
import { redisLogOptions } from "../../src/backends/redis/checkpointer.ts";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { RedisLog } from "../../src/backends/redis/log.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { RunningTest } from "../../src/testing/register-suite.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { testFeatures } from "../feature-sample.ts";
import { type ClientKind, clearPrefix, endClient, freshPrefix, makeUser, PATIENT } from "./fixtures.ts";

interface SuiteSample {
  /** 1 runs all cases, 12 every twelfth. */
  readonly every?: number;
  readonly where?: string;
}

/**
 * Both suites with one kind of client, as a user with no more rights than
 * docs/redis.md names.
 */
export function testOnRedis(
  { name, make }: ClientKind,
  url: string,
  { every = 1, where = "redis" }: SuiteSample = {},
): void {
  let cases = 0;
  const sampled = (title: string, run: (running: RunningTest) => Promise<void>): void => {
    if (cases++ % every === 0) test(title, run);
  };
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());

  const open = async () => {
    const prefix = freshPrefix();
    const { user, url: userUrl } = await makeUser(admin, url, prefix);
    const client = make(userUrl);
    const outage = async () => {
      await admin.call("ACL", ["SETUSER", user, "-evalsha", "-eval"]);
      return async () => void (await admin.call("ACL", ["SETUSER", user, "+evalsha", "+eval"]));
    };
    const keys = (): Promise<string[]> => admin.keys(`${prefix}*`);
    const copied = async () => {
      const copies = await Promise.all((await keys()).map(async (key) => [key, await admin.dumpBuffer(key)] as const));
      return async () => {
        await Promise.all((await keys()).map((key) => admin.del(key)));
        for (const [key, copy] of copies) if (copy !== null) await admin.restore(key, 0, copy);
      };
    };
    const cleanup = async () => {
      await clearPrefix(admin, prefix);
      await endClient(client);
      await admin.call("ACL", ["DELUSER", user]);
    };
    // Of a cluster, one node has only a part of them.
    return { client, prefix, outage, ...(where === "redis" && { copy: copied }), cleanup };
  };

  testThreadLog({
    name: `${where} with ${name}`,
    test: sampled,
    afterAll,
    create: async () => {
      const { client, prefix, ...fixture } = await open();
      const log = async (): Promise<RedisLog> => {
        const made = new RedisLog(redisLogOptions({ client, prefix, ...PATIENT }));
        await made.connect();
        return made;
      };
      return { ...fixture, subject: await log(), reopen: log };
    },
  });

  testFeatures({
    name: `${where} with ${name}`,
    test: sampled,
    afterAll,
    create: async () => {
      const { client, prefix, ...fixture } = await open();
      const checkpointer = (): Checkpointer => redisCheckpointer({ client, prefix });
      return { ...fixture, subject: checkpointer(), reopen: async () => checkpointer() };
    },
  });
}
