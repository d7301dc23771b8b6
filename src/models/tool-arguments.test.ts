import { expect, test } from "vitest";
import { parseToolArguments } from "./tool-arguments.ts";

test.each([
  ["an object", '{"a":1}', { a: 1 }],
  ["nothing at all", "  \n", {}],
  ["a fenced object", '```json\n{"a":1}\n```', { a: 1 }],
  ["a fence without a language", '```\n{"a":1}```', { a: 1 }],
  ["an object encoded twice", '"{\\"a\\":1}"', { a: 1 }],
])("%s is read", (_, text, value) => {
  expect(parseToolArguments(text)).toEqual({ ok: true, value });
});

test("a key that looks like a prototype is only a key", () => {
  const parsed = parseToolArguments('{"__proto__":{"polluted":true}}');
  expect(parsed.ok && Object.keys(parsed.value)).toEqual(["__proto__"]);
  expect(Reflect.has({}, "polluted")).toBe(false);
});

test.each([
  ["text that breaks off", '{"amount":1'],
  ["an object with something behind it", '{"a":1} and more'],
  ["words", "please refund"],
])("%s is not completed or guessed", (_, text) => {
  expect(parseToolArguments(text)).toEqual({ ok: false, reason: "the arguments are not valid JSON" });
});

test.each([
  ["[1]", "a list"],
  ["null", "null"],
  ["5", "a number"],
  ['"\\"x\\""', "a string"],
])("%s is refused as %s", (text, kind) => {
  expect(parseToolArguments(text)).toEqual({ ok: false, reason: `the arguments must be a JSON object, not ${kind}` });
});
