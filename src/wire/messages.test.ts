import { expect, test } from "vitest";
import type { LogChain, LogRecord } from "../checkpoint/log/thread-log.ts";
import { recordAt } from "../testing/thread-log-cases/sample-records.ts";
import { encodeFrame } from "./frame.ts";
import { decodeChain, encodeChain } from "./messages.ts";

const chainOf = (...records: readonly LogRecord[]): LogChain => ({
  generation: "g",
  tail: records.at(-1) ?? recordAt(1),
  records,
});

test("records with and without optional fields come out of a chain as they went in", () => {
  const plain = recordAt(1);
  const full = { ...recordAt(2), names: ["a", "b"], metadata: '{"k":1}', words: "one two" };
  const { records } = decodeChain(encodeChain(chainOf(plain, full)));
  for (const [index, wanted] of [plain, full].entries()) {
    const { body, ...rest } = records[index] ?? recordAt(9);
    const { body: sent, ...given } = wanted;
    expect(rest).toEqual(given);
    expect(Buffer.from(body).equals(sent)).toBe(true);
  }
});

test.each([
  ["a list", []],
  ["a text", "record"],
  ["a count that is none", { ...recordAt(2), seq: -1, body: undefined, bytes: 0 }],
  ["no header", { ...recordAt(2), header: undefined, body: undefined, bytes: 0 }],
  ["metadata that is no text", { ...recordAt(2), metadata: 5, body: undefined, bytes: 0 }],
])("a record that is %s is refused, and the error names its place", (_, record) => {
  const head = { generation: "g", tail: recordAt(1), records: [record] };
  expect(() => decodeChain(encodeFrame(head, []))).toThrow(/the answer\.records\[0\]/);
});

test("a record that names more bytes than there are is refused", () => {
  const { body: _, ...entry } = recordAt(1);
  const frame = encodeFrame({ generation: "g", tail: entry, records: [{ ...entry, bytes: 5 }] }, [Buffer.from("four")]);
  expect(() => decodeChain(frame)).toThrow(/more bytes than it holds/);
});

test("a field of Object.prototype is not read as a record's", () => {
  const frame = encodeChain(chainOf(recordAt(1)));
  Object.defineProperty(Object.prototype, "words", { value: "not mine", configurable: true });
  try {
    expect(Object.hasOwn(decodeChain(frame).records[0] ?? {}, "words")).toBe(true);
    expect(decodeChain(frame).records[0]?.words).toBeUndefined();
  } finally {
    Reflect.deleteProperty(Object.prototype, "words");
  }
});
