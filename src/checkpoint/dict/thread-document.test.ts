import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/property-seed.ts";
import { recordOf, storedBody, storedEntry } from "./thread-document.ts";

const entry = storedEntry({
  seq: 1,
  writeId: "w",
  base: 1,
  head: 1,
  checkpointId: undefined,
  header: "{}",
  metadata: undefined,
});

test("text is stored as text, so that a person can read it", () => {
  expect(storedBody(Buffer.from('{"base":{"a":"é 😀"}}'))).toBe('{"base":{"a":"é 😀"}}');
});

test("bytes that are no text, or that a database may refuse in one, are stored in base64", () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0x00], [0x80]]) {
    expect(storedBody(Uint8Array.from(bytes))).toEqual({ base64: Buffer.from(bytes).toString("base64") });
  }
});

test("any bytes come back as they were, through JSON as well", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (body) => {
      const stored = JSON.parse(JSON.stringify(storedBody(body)));
      expect(Buffer.from(recordOf(entry, stored).body).equals(Buffer.from(body))).toBe(true);
    }),
    runs(300),
  );
});
