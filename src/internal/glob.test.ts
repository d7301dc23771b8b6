import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../test/property-seed.ts";
import { globMatcher, globPrefix } from "./glob.ts";

const matches = (pattern: string, id: string): boolean => globMatcher(pattern)(id);
const literally = (id: string): string => id.replace(/[*?\\]/g, "\\$&");

describe("wildcards", () => {
  const cases: readonly [pattern: string, id: string, matched: boolean][] = [
    ["*", "", true],
    ["*", "anything\nat all", true],
    ["a*", "a", true],
    ["a*", "ba", false],
    ["a*c", "abbc", true],
    ["?", "a", true],
    ["?", "", false],
    ["?", "ab", false],
    ["?", "🙂", true],
    ["a?c", "a\nc", true],
    ["tenant-*", "tenant-1:thread", true],
    ["tenant-*", "Tenant-1", false],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["\\?x", "?x", true],
    ["a\\", "a\\", true],
    ["\\\\*", "\\b", true],
    ["\\a", "a", true],
    ["", "", true],
    ["", "a", false],
  ];
  test.each(cases)("%j on %j: %s", (pattern, id, matched) => {
    expect(matches(pattern, id)).toBe(matched);
  });
});

describe("nothing else is special", () => {
  const ids = [
    "a.b",
    "[a-z]",
    "{a,b}",
    "a|b",
    "(a)",
    "^a$",
    "a+b",
    "%",
    "_",
    "a_b",
    "'",
    "-",
    "/",
    "#",
    "\n",
    "a b",
    "$&",
    "\u2028",
  ];
  test.each(ids)("%j matches itself and no other id", (id) => {
    expect(ids.filter((other) => matches(literally(id), other))).toEqual([id]);
  });

  test("an escaped id matches exactly that id, whatever it is", () => {
    const unit = fc.oneof(
      fc.constantFrom(..."*?\\[]{}()^$.|+-/%_ab"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    );
    const text = fc.string({ unit, maxLength: 6 });
    const property = fc.property(text, text, (id, other) => {
      expect(matches(literally(id), id)).toBe(true);
      expect(matches(literally(id), other)).toBe(id === other);
    });
    fc.assert(property, runs(3_000));
  });
});

describe("the prefix narrows a scan", () => {
  test.each([
    ["tenant-*", "tenant-"],
    ["a?b", "a"],
    ["*", ""],
    ["", ""],
    ["a\\*b*c", "a*b"],
    ["\\?", "?"],
    ["plain", "plain"],
    ["%_", "%_"],
  ])("%j: %j", (pattern, prefix) => {
    expect(globPrefix(pattern)).toBe(prefix);
  });

  test("without losing a match: every id that matches begins with it", () => {
    const pattern = fc.string({ unit: fc.constantFrom(..."*?\\ab"), maxLength: 8 });
    const id = fc.string({ unit: fc.constantFrom(..."*?\\ab"), maxLength: 8 });
    const property = fc.property(pattern, id, (glob, candidate) => {
      if (matches(glob, candidate)) expect(candidate.startsWith(globPrefix(glob))).toBe(true);
    });
    fc.assert(property, runs(5_000));
  });
});

test("a pattern made to take for ever does not", () => {
  const pattern = `${"*a".repeat(40)}*b`;
  const sandbox = { matches: globMatcher(pattern), id: "a".repeat(1_000) };
  expect(runInNewContext("matches(id)", sandbox, { timeout: 60_000 })).toBe(false);
});
