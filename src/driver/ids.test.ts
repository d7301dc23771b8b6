import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { assertCheckpointId, assertThreadId, MAX_ID_BYTES } from "./ids.ts";

describe("an id is opaque: almost any text is one", () => {
  const ids = [" ", ".", "..", "a/b", "a:b", "__proto__", "constructor", "CON", "%2e%2e", "*", "'; --", "é", "e\u0301"];
  test.each([
    ...ids,
    "🙂",
    "\u200b",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\u0085",
    "x".repeat(MAX_ID_BYTES),
    "🙂".repeat(256),
  ])("%j", (id) => {
    expect(() => assertThreadId(id)).not.toThrow();
    expect(() => assertCheckpointId(id)).not.toThrow();
  });
});

describe("an invalid id is refused, with the reason", () => {
  const cases: readonly [id: unknown, message: string][] = [
    ["", "the thread id must not be empty"],
    [undefined, "the thread id must be a string, not undefined"],
    [null, "the thread id must be a string, not null"],
    [1, "the thread id must be a string, not number"],
    [{ $ne: null }, "the thread id must be a string, not object"],
    [["a"], "the thread id must be a string, not object"],
    [Object("a"), "the thread id must be a string, not object"],
    [{ toString: () => "a" }, "the thread id must be a string, not object"],
    ["\ud800", "the thread id must be well-formed Unicode: it holds half of a surrogate pair"],
    ["a\udc00b", "the thread id must be well-formed Unicode: it holds half of a surrogate pair"],
    ["a\u0000", 'the thread id "a\\u0000" must not hold control characters'],
    ["a\r\nX: y", 'the thread id "a\\r\\nX: y" must not hold control characters'],
    ["\u007f", 'the thread id "\u007f" must not hold control characters'],
    ["x".repeat(MAX_ID_BYTES + 1), "the thread id is 1025 bytes long; at most 1024 are taken"],
    ["é".repeat(513), "the thread id is 1026 bytes long; at most 1024 are taken"],
  ];
  test.each(cases)("%j", async (id, message) => {
    expect(await failureOf(() => assertThreadId(id))).toMatchObject({ code: "INVALID_ARGUMENT", message });
    const other = message.replace("thread id", "checkpoint id");
    expect(await failureOf(() => assertCheckpointId(id))).toMatchObject({ code: "INVALID_ARGUMENT", message: other });
  });

  test("a megabyte with a control character is not repeated in the message", async () => {
    const failure = await failureOf(() => assertThreadId(`\u0001${"x".repeat(1_000_000)}`));
    expect(failure.message.length).toBeLessThan(200);
  });
});
