import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { S3BucketCheckpointer } from "../../src/backends/s3/index.ts";
import { S3Log } from "../../src/backends/s3/log.ts";
import { testCheckpointer } from "../../src/testing/test-checkpointer.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { cutLoads, cutSaves } from "../network/wire-cuts.ts";
import { Programs } from "../processes/programs.ts";
import { race } from "../processes/racing-writers.ts";
import { s3Place, s3Url, wiredS3 } from "../s3/test-bucket.ts";
import { startMinio, startS3 } from "../services/s3.ts";
import type { TestServer } from "../services/server-process.ts";
import { reportCampaign } from "./report.ts";

const cuts = { every: 1, offset: 0, onNewConnections: false };

describe.each([
  ["versitygw", startS3],
  ["minio", startMinio],
] as const)("%s", (name, start) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  test("a save is applied once, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    const report = await cutSaves(wiredS3(server.url), cuts);
    const proven = `${report.cuts} cuts, one at every byte: 0 lost, 0 doubled, 0 false conflicts, 0 hangs`;
    reportCampaign(`wire cuts, ${name}, saves`, began, proven, {
      "failed and were repeated": report.failed,
      "of them had been written": report.appliedUnseen,
    });
    expect(report.cuts).toBeGreaterThan(800);
  });

  test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
    const began = performance.now();
    const report = await cutLoads(wiredS3(server.url), cuts);
    const proven = `${report.cuts} cuts, one at every byte: the state or a retryable error, never "absent"`;
    reportCampaign(`wire cuts, ${name}, loads`, began, proven, { failed: report.failed });
    expect(report.cuts).toBeGreaterThan(800);
  });

  test("sixteen processes that each increment one thread 250 times lose nothing", async () => {
    const began = performance.now();
    const programs = await Programs.compile();
    const { url, environment } = s3Url(server.url);
    Object.assign(process.env, environment);
    try {
      const conflicts = await race(programs, { url, processes: 16, increments: 250 });
      reportCampaign(`concurrency, ${name}`, began, "16 processes x 250: 4000 increments present, 0 lost", {
        "conflicts seen and redone": conflicts,
      });
      expect(conflicts).toBeGreaterThan(0);
    } finally {
      for (const variable of Object.keys(environment)) delete process.env[variable];
      await programs.dispose();
    }
  });

  testThreadLog({
    name,
    test,
    afterAll,
    create: async () => {
      const { bucketName, prefix, ...connection } = s3Place(server.url);
      const place = { bucketName, prefix, client: undefined, requestTimeoutMs: 30_000 };
      const open = () => new S3Log({ ...place, connection, serverDurability: "fsync" });
      return { subject: open(), reopen: async () => open() };
    },
  });

  testCheckpointer({
    name,
    test,
    afterAll,
    create: async () => {
      const place = s3Place(server.url);
      const open = () => new S3BucketCheckpointer({ ...place, retry: { attempts: 2, baseDelayMs: 1 } });
      return { subject: open(), reopen: async () => open() };
    },
  });
});
