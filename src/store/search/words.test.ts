import { expect, test } from "vitest";
import { indexedWords, queryWords, stem } from "./words.ts";

test.each([
  ["caresses", "caress"],
  ["ponies", "poni"],
  ["cats", "cat"],
  ["agreed", "agre"],
  ["plastered", "plaster"],
  ["motoring", "motor"],
  ["sing", "sing"],
  ["conflated", "conflat"],
  ["hopping", "hop"],
  ["falling", "fall"],
  ["filing", "file"],
  ["happy", "happi"],
  ["relational", "relat"],
  ["conditional", "condit"],
  ["vietnamization", "vietnam"],
  ["decisiveness", "decis"],
  ["hopefulness", "hope"],
  ["formality", "formal"],
  ["triplicate", "triplic"],
  ["electrical", "electr"],
  ["adjustment", "adjust"],
  ["adoption", "adopt"],
  ["connections", "connect"],
  ["connected", "connect"],
  ["rate", "rate"],
  ["controlling", "control"],
  ["is", "is"],
  ["привет", "привет"],
  ["東", "東"],
])("the stem of %s is %s", (word, expected) => {
  expect(stem(word)).toBe(expected);
});

test("indexed words have neither case nor accents, and are single words with spaces between", () => {
  expect(indexedWords("Zürich, CAFÉS & pg_dump!")).toBe("zurich cafe pg_dump");
  expect(indexedWords("")).toBe("");
});

test("a question is its telling words, each once; or all of them where it has no others", () => {
  expect(queryWords("What is the name of the user's cat? Cats!")).toEqual(["name", "user", "cat"]);
  expect(queryWords("what is it")).toEqual(["what", "is", "it"]);
  expect(queryWords("  ?! ")).toEqual([]);
  expect(queryWords(Array.from({ length: 500 }, (_, index) => `word${index}`).join(" "))).toHaveLength(64);
});
