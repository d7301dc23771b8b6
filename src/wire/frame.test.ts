import { describe, expect, test } from "vitest";
import type { AppendRequest, LogRecord } from "../checkpoint/log/thread-log.ts";
import { placeAt } from "../testing/thread-log-cases/sample-records.ts";
import { MalformedMessage } from "./fields.ts";
import { decodeAppend, decodeChain, encodeAppend, encodeChain } from "./messages.ts";

const recordAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord => ({
  seq,
  writeId: `write-${seq}`,
  base: 1,
  head: seq,
  checkpointId: `checkpoint-${seq}`,
  header: `{"record":${seq}}`,
  metadata: undefined,
  body: Buffer.from(`body of ${seq}`),
  words: undefined,
  ...fields,
});

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);

describe("records come back as they were", () => {
  const records: readonly [what: string, record: LogRecord][] = [
    ["plain", recordAt(1)],
    ["without a body", recordAt(1, { body: new Uint8Array() })],
    ["with every byte", recordAt(1, { body: everyByte })],
    [
      "with bytes that look like a frame",
      recordAt(1, { body: encodeChain({ generation: "g", tail: recordAt(1), records: [] }) }),
    ],
    ["no checkpoint", recordAt(1, { checkpointId: undefined })],
    ["with words and metadata", recordAt(1, { words: "one two", metadata: '{"a":"\\u0000"}' })],
    [
      "with hostile text",
      recordAt(1, { header: '\u0000\ud800\u2028"\\', writeId: "__proto__", checkpointId: "\u{1f600}" }),
    ],
  ];

  test.each(records)("%s", (_, record) => {
    const chain = { generation: "g", tail: record, records: [record, recordAt(2)] };
    const read = decodeChain(encodeChain(chain));
    expect(read.generation).toBe("g");
    for (const [index, expected] of chain.records.entries()) {
      const { body, ...fields } = read.records[index]!;
      const { body: expectedBody, ...expectedFields } = expected;
      expect(fields).toEqual(expectedFields);
      expect(Buffer.compare(body, expectedBody)).toBe(0);
    }
    const request: AppendRequest = {
      expected: placeAt(4, "g"),
      record,
      replace: [recordAt(3)],
      drop: [1, 2],
      dropBelow: 1,
      ttlMs: 1.5,
    };
    const again = decodeAppend(encodeAppend(request));
    expect({ ...again, record: { ...again.record, body: [...again.record.body] } }).toMatchObject({
      expected: placeAt(4, "g"),
      drop: [1, 2],
      dropBelow: 1,
      ttlMs: 1.5,
      record: { ...record, body: [...record.body] },
    });
    expect(Buffer.from(again.replace?.[0]?.body ?? []).toString()).toBe("body of 3");
  });
});

const frame = encodeChain({ generation: "g", tail: recordAt(2), records: [recordAt(1), recordAt(2)] });

test("a frame that is cut off after any byte is malformed", () => {
  for (let length = 0; length < frame.length; length++) {
    expect(() => decodeChain(frame.subarray(0, length)), `${length} bytes`).toThrow(MalformedMessage);
  }
});

test("a frame in which any bit was turned is malformed", () => {
  for (let bit = 0; bit < frame.length * 8; bit++) {
    const turned = Uint8Array.from(frame);
    turned[bit >> 3] = turned[bit >> 3]! ^ (1 << (bit & 7));
    expect(() => decodeChain(turned), `bit ${bit}`).toThrow(MalformedMessage);
  }
});

test("a frame with something behind it is malformed", () => {
  expect(() => decodeChain(Buffer.concat([frame, Buffer.from("x")]))).toThrow(MalformedMessage);
  expect(() => decodeChain(Buffer.concat([frame, frame]))).toThrow(MalformedMessage);
});
