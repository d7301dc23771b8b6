import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, describe, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { postgresLogOptions } from "../../src/backends/postgres/checkpointer.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { PostgresLog } from "../../src/backends/postgres/log.ts";
import { redisLogOptions } from "../../src/backends/redis/checkpointer.ts";
import { redisCheckpointer } from "../../src/backends/redis/index.ts";
import { RedisLog } from "../../src/backends/redis/log.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../../src/backends/sqlite/options.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { ReferenceLog } from "../broken/drivers/reference-log.ts";
import { testFeatures } from "../feature-sample.ts";
import { clearPrefix, freshPrefix, PATIENT } from "../redis/fixtures.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const { keyring } = await sampleKeyring();
const sealing = new Sealing({ keyring });
const indexed = new Sealing({ keyring, index: "plain" });
const folder = await mkdtemp(join(tmpdir(), "holdfast-sealing-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}.db`);

describe("on SQLite", () => {
  for (const layer of [sealing, indexed]) {
    const name = layer === sealing ? "sqlite, sealed" : "sqlite, sealed except the index";
    testThreadLog({
      name,
      test,
      afterAll,
      create: async () => {
        const path = newPath();
        const open = () => layer.over(new SqliteLog(sqliteLogOptions({ path })));
        return { subject: open(), reopen: async () => open() };
      },
    });
    testFeatures({
      name,
      test,
      afterAll,
      create: async () => {
        const path = newPath();
        const clock = manualClock();
        const open = () => sqliteCheckpointer({ path, now: clock.now, sealing: layer });
        return { subject: open(), reopen: async () => open(), clock };
      },
    });
  }
});

testThreadLog({
  name: "memory with every optional method, sealed except the index",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    return { subject: indexed.over(new ReferenceLog(new MemoryLog(clock))), clock };
  },
});

testFeatures({
  name: "memory with every optional method, sealed except the index",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    const inner = new ReferenceLog(new MemoryLog(clock));
    return { subject: new Checkpointer(inner, { ...clock, sealing: indexed }), clock };
  },
});

await describeWithService("postgres", (url) => {
  const { schema, prefix, dispose } = postgresPlace(url);
  afterAll(dispose);
  testThreadLog({
    name: "postgres, sealed except the index",
    test,
    afterAll,
    create: async () => {
      const options = postgresLogOptions({ dsn: url, schema, tablePrefix: prefix() });
      const open = () => indexed.over(new PostgresLog(options));
      return { subject: open(), reopen: async () => open() };
    },
  });
  testFeatures({
    name: "postgres, sealed",
    test,
    afterAll,
    create: async () => {
      const options = { dsn: url, schema, tablePrefix: prefix(), sealing };
      const open = () => postgresqlCheckpointer(options);
      return { subject: open(), reopen: async () => open() };
    },
  });
});

await describeWithService("redis", (url) => {
  const client = new Redis(url);
  afterAll(() => client.disconnect());
  testThreadLog({
    name: "redis, sealed except the index",
    test,
    afterAll,
    create: async () => {
      const prefix = freshPrefix();
      const open = async () => {
        const log = indexed.over(new RedisLog(redisLogOptions({ client, prefix, ...PATIENT })));
        await log.connect();
        return log;
      };
      return { subject: await open(), reopen: open, cleanup: () => clearPrefix(client, prefix) };
    },
  });
  testFeatures({
    name: "redis, sealed",
    test,
    afterAll,
    create: async () => {
      const prefix = freshPrefix();
      const open = () => redisCheckpointer({ client, prefix, sealing });
      return { subject: open(), reopen: async () => open(), cleanup: () => clearPrefix(client, prefix) };
    },
  });
});
