import { describe, expect, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { placeAt, recordAt } from "../../testing/thread-log-cases/sample-records.ts";

const BODY = Buffer.alloc(1000, "x");

/** A thread whose every record is needed to rebuild its newest state, as a growing conversation is. */
async function grown(saves: number): Promise<MemoryBucket> {
  const bucket = new MemoryBucket();
  const log = logOn(bucket);
  for (let seq = 1; seq <= saves; seq++) {
    const request = { expected: placeAt(seq - 1, "g"), record: recordAt(seq, { body: BODY }) };
    expect(await log.append("t", request)).toEqual({ appended: true });
  }
  return bucket;
}

async function coldly<T>(bucket: MemoryBucket, work: (log: ReturnType<typeof logOn>) => Promise<T>) {
  const [requests, rounds] = [bucket.requests.length, bucket.rounds];
  const answer = await work(logOn(bucket));
  return { answer, gets: bucket.requests.length - requests, rounds: bucket.rounds - rounds };
}

const bytesSent = (bucket: MemoryBucket): number => bucket.requests.reduce((sum, { bytes }) => sum + bytes, 0);

describe("what a thread on an object store costs", () => {
  test.each([10, 17, 400, 1023, 1024, 1500])("a cold load of %i saves is at most 6 GETs in 2 rounds", async (saves) => {
    const { answer, gets, rounds } = await coldly(await grown(saves), (log) => log.readTail("t"));
    expect(answer?.records.map(({ seq }) => seq)).toEqual(Array.from({ length: saves }, (_, index) => index + 1));
    expect(gets).toBeLessThanOrEqual(6);
    expect(rounds).toBeLessThanOrEqual(2);
  });

  test("a cold load of 10,000 saves is at most 3 rounds of GETs one after another", async () => {
    const { answer, gets, rounds } = await coldly(await grown(10_000), (log) => log.readTail("t"));
    expect(answer?.records).toHaveLength(10_000);
    expect(gets).toBeLessThanOrEqual(16);
    expect(rounds).toBeLessThanOrEqual(3);
  });

  test("a cold load is at most 3 rounds of GETs at any length: pages grow with the thread", async () => {
    const bucket = new MemoryBucket();
    const log = logOn(bucket);
    const [records, atOnce] = [60_000, 256];
    for (let seq = 1; seq <= records; seq += atOnce) {
      const [record, ...more] = Array.from({ length: Math.min(atOnce, records + 1 - seq) }, (_, at) =>
        recordAt(seq + at),
      );
      if (record === undefined) throw new Error("a batch without a record");
      expect(await log.append("t", { expected: placeAt(seq - 1, "g"), record, more })).toEqual({ appended: true });
    }
    const { answer, gets, rounds } = await coldly(bucket, (cold) => cold.readTail("t"));
    expect(answer?.records.map(({ seq }) => seq)).toEqual(Array.from({ length: records }, (_, index) => index + 1));
    expect(gets).toBeLessThanOrEqual(1 + 40);
    expect(rounds).toBe(2);
    expect(bucket.objects.size).toBe(gets);
  });

  test("large bodies are read 48 at once", async () => {
    const bucket = new MemoryBucket();
    const log = logOn(bucket);
    const body = Buffer.alloc(20_000, "y");
    for (let seq = 1; seq <= 48; seq++) {
      await log.append("t", { expected: placeAt(seq - 1, "g"), record: recordAt(seq, { body }) });
    }
    const { answer, rounds } = await coldly(bucket, (cold) => cold.readTail("t"));
    expect(answer?.records.map((record) => record.body.byteLength)).toEqual(Array(48).fill(20_000));
    expect(rounds).toBe(3);
  });

  test("all saves together send bytes in proportion to the thread", async () => {
    const [short, long] = [await grown(1000), await grown(4000)];
    expect(bytesSent(long)).toBeLessThan(4.8 * bytesSent(short));
  });

  test("the newest ten of a long history are read with one GET beside the document", async () => {
    const bucket = await grown(1501);
    const { answer, gets } = await coldly(bucket, (log) => log.list("t", { limit: 10 }));
    expect(answer).toHaveLength(10);
    expect(gets).toBeLessThanOrEqual(2);
  });

  test("a reader that knows most of a long thread is sent only the pages that hold something newer", async () => {
    const bucket = await grown(1501);
    const whole = await coldly(bucket, (log) => log.readTail("t"));
    for (const [count, most] of [
      [0, 1],
      [1, 1],
      [50, whole.gets - 1],
    ] as const) {
      const newerThan = placeAt(1501 - count, "g");
      const { answer, gets } = await coldly(bucket, (log) => log.readTail("t", { newerThan }));
      expect(answer?.records).toHaveLength(count);
      expect(gets, `GETs for ${count} records`).toBeLessThanOrEqual(most);
    }
  });

  test("a page of the newest records is read with one GET beside the document", async () => {
    const bucket = await grown(1501);
    const { answer, gets } = await coldly(bucket, (log) => log.readRecords("t", { limit: 10 }));
    expect(answer?.records.map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, index) => 1492 + index));
    expect(gets).toBeLessThanOrEqual(2);
  });

  test("a long thread lies in few objects, and what was merged is deleted", async () => {
    expect((await grown(1500)).objects.size).toBeLessThanOrEqual(6);
  });
});
