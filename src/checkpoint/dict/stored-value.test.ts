import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/property-seed.ts";
import { packObject } from "../bucket-log/stored-object.ts";
import { dataOf, objectOf, storedBody } from "./stored-value.ts";

test("text is stored as text, so that a person can read it", () => {
  expect(storedBody(Buffer.from('{"base":{"a":"é 😀"}}'))).toBe('{"base":{"a":"é 😀"}}');
  const recent = [
    { seq: 1, body: 4 },
    { seq: 2, body: { suffix: "", bytes: 9 } },
    { seq: 3, body: 3 },
  ];
  const bytes = packObject({ threadId: "t", thread: { recent } }, [Buffer.from("é {"), Buffer.from("two")]);
  expect(dataOf("key", bytes)).toMatchObject({ content: { thread: { recent } }, bodies: ["é {", "two"] });
});

test("bytes that are no text, or that a database may refuse in one, are stored in base64", () => {
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0x00], [0x80]]) {
    expect(storedBody(Buffer.from(bytes))).toEqual({ base64: Buffer.from(bytes).toString("base64") });
  }
});

test("any bytes come back as they were, through JSON as well, and only equal ones have one version", () => {
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  );
  const versions = new Map<string, string>();
  fc.assert(
    fc.property(fc.array(body, { maxLength: 4 }), (bodies) => {
      const records = bodies.map(({ byteLength }, index) => ({ seq: index + 1, body: byteLength }));
      const bytes = packObject({ threadId: "t", life: "l", records }, bodies);
      const found = objectOf("key", JSON.parse(JSON.stringify(dataOf("key", bytes))) as object);
      expect(found?.bytes.equals(bytes)).toBe(true);
      const known = versions.get(found?.version ?? "");
      expect(known ?? bytes.toString("hex")).toBe(bytes.toString("hex"));
      versions.set(found?.version ?? "", bytes.toString("hex"));
    }),
    runs(300),
  );
});
