import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeWithOwnRedis, PATIENT } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import type { AppendRequest, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { type RequestFields, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { redisLogOptions } from "./checkpointer.ts";
import { RedisLog } from "./log.ts";

const record = (seq: number, changes: Partial<LogRecord> = {}): LogRecord => ({
  ...{ seq, writeId: `w${seq}`, base: 1, head: seq, checkpointId: `c${seq}`, header: "h", metadata: undefined },
  ...{ body: Buffer.from(`body ${seq}`), words: undefined },
  ...changes,
});

const append = (seq: number, changes: RequestFields = {}): AppendRequest =>
  requestFor(record(seq), { generation: "g", after: `w${seq - 1}`, ...changes });

await describeWithOwnRedis("an append that the thread itself proves wrong", () => {
  let server: TestServer;
  let admin: Redis;
  let log: RedisLog;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    log = new RedisLog(redisLogOptions({ url: server.url, ...PATIENT }));
  });
  afterAll(async () => {
    await log.close();
    admin.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    await admin.flushall();
    for (let seq = 1; seq <= 4; seq++) await log.append("t", append(seq));
    await log.append("t", append(5, { drop: [2] }));
  });

  const wrong: readonly (readonly [what: string, request: AppendRequest])[] = [
    ["replaces a record that is not there", append(6, { replace: [record(2, { checkpointId: undefined, head: 1 })] })],
  ];

  test.for(wrong)("that %s is INVALID_ARGUMENT, and nothing is written", async ([, request]) => {
    const before = await admin.hgetall("holdfast:t:{t}");
    await expect(log.append("t", request)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await admin.hgetall("holdfast:t:{t}")).toEqual(before);
  });

  describe("and one that it does not", () => {
    const right: readonly (readonly [what: string, request: AppendRequest])[] = [
      ["takes the id of a record that it drops", append(6, { record: record(6, { checkpointId: "c3" }), drop: [3] })],
      [
        "takes the id of one below what it keeps",
        append(6, { record: record(6, { checkpointId: "c3" }), dropBelow: 4 }),
      ],
      [
        "takes the id of one that it replaces",
        append(6, { record: record(6, { checkpointId: "c3" }), replace: [record(3, { checkpointId: "other" })] }),
      ],
      ["replaces a record under its id", append(6, { replace: [record(3)] })],
      ["takes an id that an older one has", append(6, { record: record(6, { checkpointId: "c3" }) })],
      ["takes an id that is free again", append(6, { record: record(6, { checkpointId: "c2" }) })],
    ];
    test.for(right)("that %s is carried out", async ([, request]) => {
      expect(await log.append("t", request)).toEqual({ appended: true });
      expect(await log.entry("t", request.record.checkpointId ?? "")).toMatchObject({ seq: 6 });
    });
  });

  test("the tail comes before the rules: an append that was already made is refused, not reported as invalid", async () => {
    await log.append("t", append(6));
    expect(await log.append("t", append(6))).toMatchObject({ appended: false, occupant: { writeId: "w6" } });
  });
});
