import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OciBucket } from "../src/backends/oci/bucket.ts";
import { OciLog } from "../src/backends/oci/log.ts";
import { S3Bucket } from "../src/backends/s3/bucket.ts";
import { S3Log } from "../src/backends/s3/log.ts";
import type { ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import { placeAt, recordAt } from "../src/testing/thread-log-cases/sample-records.ts";
import { OciStandIn } from "./oci-stand-in/stand-in.ts";
import { logOptions, placeOn } from "./oci-stand-in/test-bucket.ts";
import { s3Place } from "./s3/test-bucket.ts";
import { describeWithService } from "./services/with-service.ts";

/** As many as move to a page together, so that pages are those of single saves. */
const BATCH = 15;

async function grow(log: ThreadLog, from: number, to: number): Promise<void> {
  const body = Buffer.alloc(1024, "x");
  for (let seq = from; seq <= to; seq += BATCH) {
    const [record, ...more] = Array.from({ length: Math.min(BATCH, to + 1 - seq) }, (_, at) =>
      recordAt(seq + at, { body }),
    );
    if (record === undefined) throw new Error("a batch without a record");
    expect(await log.append("t", { expected: placeAt(seq - 1, "g"), record, more })).toEqual({ appended: true });
  }
}

type Reads = { get(name: string): Promise<unknown> };

/** Counts GETs, and rounds: a request is one round behind the last one whose answer it could have waited for. */
async function counted(bucket: Reads, work: () => Promise<unknown>): Promise<{ gets: number; rounds: number }> {
  let [gets, rounds, answered] = [0, 0, 0];
  const get = bucket.get;
  const spy = vi.spyOn(bucket, "get").mockImplementation(async function (this: Reads, name: string) {
    const round = answered + 1;
    gets++;
    rounds = Math.max(rounds, round);
    const found = await get.call(this, name);
    answered = Math.max(answered, round);
    return found;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return { gets, rounds };
}

async function measured(open: () => ThreadLog, bucket: Reads): Promise<Record<number, string>> {
  const writer = open();
  const found: Record<number, string> = {};
  for (const [from, to] of [
    [1, 10],
    [11, 400],
    [401, 1500],
  ] as const) {
    await grow(writer, from, to);
    const cold = open();
    const { gets, rounds } = await counted(bucket, async () => {
      expect((await cold.readTail("t"))?.records).toHaveLength(to);
    });
    await cold.close();
    found[to] = `${gets <= 6 ? "at most 6" : gets} GETs, ${rounds <= 3 ? "at most 3" : rounds} rounds`;
  }
  await writer.close();
  return found;
}

const FEW = "at most 6 GETs, at most 3 rounds";

describe("a cold load over object storage is at most 6 GETs in at most 3 rounds, up to 1,500 saves", () => {
  let standIn: OciStandIn;
  beforeAll(async () => {
    standIn = await OciStandIn.start();
  });
  afterAll(() => standIn.close());

  test("on OCI", async () => {
    const place = placeOn(standIn);
    const found = await measured(() => new OciLog(logOptions(place)), OciBucket.prototype as unknown as Reads);
    expect(found).toEqual({ 10: FEW, 400: FEW, 1500: FEW });
  });
});

await describeWithService("s3", (url) => {
  test("a cold load over S3 is at most 6 GETs in at most 3 rounds, up to 1,500 saves", async () => {
    const { bucketName, prefix, ...connection } = s3Place(url);
    const place = { bucketName, prefix, client: undefined, requestTimeoutMs: 30_000 };
    const open = () => new S3Log({ ...place, connection, serverDurability: "fsync" });
    expect(await measured(open, S3Bucket.prototype)).toEqual({ 10: FEW, 400: FEW, 1500: FEW });
  });
});
