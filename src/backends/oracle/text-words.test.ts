import fc from "fast-check";
import { expect, test } from "vitest";
import { searchWords } from "../../state/words.ts";
import { storedTokens, textQueries, tokenOf } from "./text-words.ts";

test("a token is ASCII letters and digits only, never longer than a server keeps, and never a word of the query language", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (word) => {
      expect(tokenOf(word)).toMatch(/^hf[a-z0-9]{0,62}$/);
    }),
  );
  for (const word of ["and", "near", "within", "the", "_", "%", "{}", "a-b"]) {
    expect(tokenOf(word)).toMatch(/^hf[a-z0-9]+$/);
  }
});

test("one word begins with another exactly if its token does, as long as it is short enough", () => {
  const short = fc.string({ unit: "grapheme", maxLength: 8 }).filter((word) => word.length <= 12);
  fc.assert(
    fc.property(short, short, (one, other) => {
      expect(tokenOf(one).startsWith(tokenOf(other))).toBe(one.startsWith(other));
    }),
  );
});

test("a record's words are kept once each; without words there is nothing to keep", () => {
  expect(storedTokens("cat dog cat")).toEqual({ text: "hfcat hfdog", count: 2 });
  expect(storedTokens(undefined)).toBeUndefined();
  expect(storedTokens("")).toBeUndefined();
  const many = searchWords("word ".repeat(100_000)).join(" ");
  expect(storedTokens(many)?.count).toBe(1);
});

test("a query that is too long for one bind becomes several, and no word is left out", () => {
  const words = Array.from({ length: 1000 }, (_, at) => `word${at}${"x".repeat(100)}`);
  const queries = textQueries(words);
  expect(queries.every((query) => query.length <= 4000)).toBe(true);
  expect(queries.length).toBeLessThanOrEqual(20);
  expect(queries.flatMap((query) => query.split(" & "))).toHaveLength(1000);
});
