import { expect } from "vitest";
import { OciLog } from "../../src/backends/oci/log.ts";
import type { LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import { placeAt } from "../../src/testing/thread-log-cases/sample-records.ts";
import { logOptions, type TestPlace } from "./test-bucket.ts";

/** A small record of a thread, each building on the ten before it. */
export const sampleRecord = (seq: number): LogRecord => ({
  seq,
  writeId: `write-${seq}`,
  base: Math.max(1, seq - 10),
  head: seq,
  checkpointId: `checkpoint ${seq}`,
  header: "{}",
  metadata: undefined,
  body: Buffer.from(`body ${seq}`),
  words: undefined,
});

/** A thread of this many records, and the driver that wrote it. */
export async function filledLog(place: TestPlace, threadId: string, count: number): Promise<OciLog> {
  const log = new OciLog(logOptions(place));
  for (let seq = 1; seq <= count; seq++) {
    const outcome = await log.append(threadId, {
      expected: placeAt(seq - 1, "g"),
      record: sampleRecord(seq),
    });
    expect(outcome).toEqual({ appended: true });
  }
  return log;
}
