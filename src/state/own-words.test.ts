import { describe, expect, test } from "vitest";
import { ownWords } from "./own-words.ts";

const MAILS: Readonly<Record<string, string>> = {
  "fields with an address": "From: Ann Keller <ann@example.org>\nSubject: Move\n\nI live in Paris.",
  "fields in German without one": "Von: Ann Keller\nGesendet: Montag\nBetreff: Umzug\n\nIch wohne in Paris.",
  "fields in Japanese": "差出人：安\n日時：月曜日\n件名：引っ越し\n\nパリに住んでいます。",
  "a forwarded message": "---------- Forwarded message ---------\nI live in Paris.",
  "the original message, in French": "-----Message d'origine-----\nJ'habite à Paris.",
  "an answer above a quotation": "Am 3. Mai schrieb Ann Keller <ann@example.org>:\nIch wohne in Paris.",
};

describe("what an author says is all but", () => {
  test.each(Object.entries(MAILS))("a pasted mail: %s", (_, mail) => {
    expect(ownWords(`Please answer this.\n\n${mail}`).trim()).toBe("Please answer this.");
  });

  test("quoted lines and code, also code that does not end", () => {
    expect(ownWords("one\n> two\n```\nthree\n```\nfour\n```ts\nfive").split("\n").filter(Boolean)).toEqual([
      "one",
      "four",
    ]);
    expect(ownWords("```one``` is code\nmine")).toContain("mine");
  });
});

test.each([
  "Name: Ann\nCity: Bern\nJob: nurse",
  "Mail me at ann@example.org, please.",
  "My list:\n- bread\n- milk",
  "Note: I live in Bern.",
  "At 10:30 I leave.\nAt 11:00 I am there.",
  "---\nI live in Bern.",
])("an author's own words stay: %j", (text) => {
  expect(ownWords(text)).toBe(text);
});

test("a long text of fields takes time in proportion to its length", () => {
  expect(ownWords("a: b\n".repeat(100_000))).toHaveLength(500_000);
});
