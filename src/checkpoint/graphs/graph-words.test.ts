import { expect, test } from "vitest";
import { wordsInTexts } from "./graph-words.ts";

test("the words of a graph's record are its strings, without keys, marks of lists and the line before them", () => {
  const texts = [
    '{"key":"Some \\"quoted\\" words","other":{"deep":["and \\\\ more"]}}',
    '"bare"',
    "12",
    "\u00013\u0001",
  ];
  expect(wordsInTexts(`{"e":[1,2],"line":"not this"}\n${texts.join("")}`)).toBe("some quoted words and more bare");
  expect(wordsInTexts("{}\n")).toBe("");
});

test("a string of megabytes is looked at as far as any text is", () => {
  expect(wordsInTexts(`{}\n${JSON.stringify("é word ".repeat(400_000))}`).startsWith("e word e word")).toBe(true);
});
