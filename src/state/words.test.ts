import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../test/property-seed.ts";
import { assistantMessage, systemMessage, toolMessage, userMessage } from "./message.ts";
import { LONGEST_TEXT, searchableText, searchWords } from "./words.ts";

describe("the words of a text", () => {
  const cases: readonly [what: string, text: string, words: readonly string[]][] = [
    [
      "are split at everything that is no letter, digit or underscore",
      "a-b c.d\te\n(f)_g 1,5",
      ["a", "b", "c", "d", "e", "f", "_g", "1", "5"],
    ],
    ["have no case", "HeLLo ÄRGER", ["hello", "arger"]],
    ["have no accents, however those are written", "caf\u00e9 cafe\u0301 naïve", ["cafe", "cafe", "naive"]],
    ["have no width", "ＡＢＣ１２３ ﬁne", ["abc123", "fine"]],
    ["are the same for every i of Turkish", "İstanbul istanbul", ["istanbul", "istanbul"]],
    ["of Chinese and Japanese are single characters", "東京に行く x東", ["東", "京", "に", "行", "く", "x", "東"]],
    ["of Cyrillic and Greek are words", "Привет Κόσμε", ["привет", "κοσμε"]],
    ["leave out emoji and punctuation", "🙂 — !!! ok", ["ok"]],
    ["of nothing are none", " \u0000\u2028 ", []],
  ];
  test.each(cases)("%s", (_, text, words) => {
    expect(searchWords(text)).toEqual(words);
  });

  test("each Korean character is one word, not its letters", () => {
    expect(searchWords("한국")).toHaveLength(2);
  });

  test("eight megabytes of any letters have words, none longer than 128 characters, in reasonable time", () => {
    for (const letter of ["a", "\u00e9", "e\u0301", "\ud835\udc9c", "\u4f1a", "\ufdfa", "\u0301"]) {
      const words = searchWords(letter.repeat(8_000_000 / letter.length));
      expect(words.length).toBeLessThanOrEqual(LONGEST_TEXT);
      expect(words.every((word) => word.length <= 256)).toBe(true);
    }
    expect(searchWords("a".repeat(300)).map(({ length }) => length)).toEqual([128, 128, 44]);
  });

  test("taking the words of the words changes nothing: an index and a query meet", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (text) => {
      const words = searchWords(text);
      expect(searchWords(words.join(" "))).toEqual(words);
    });
    fc.assert(property, runs(2_000));
  });
});

describe("what is searchable of a message", () => {
  test("its text, in a string or in parts, but not its reasoning or files", () => {
    const parts = [
      { type: "text" as const, text: "shown" },
      { type: "reasoning" as const, text: "hidden" },
      { type: "file" as const, mediaType: "text/plain", data: Buffer.from("bytes"), filename: "name" },
    ];
    expect(searchableText([systemMessage("Be kind"), userMessage(parts)])).toBe("be kind shown");
  });

  test("the names and arguments of its tool calls, and the tool that answered", () => {
    const toolCalls = [
      { id: "c1", name: "book_flight", arguments: { to: "Oslo", seats: [2, { window: true }], on: 5n } },
    ];
    const answer = toolMessage("done", { toolCallId: "c1", toolName: "book_flight" });
    expect(searchableText([assistantMessage("", { toolCalls }), answer])).toBe(
      "book_flight oslo 2 true 5 done book_flight",
    );
  });

  test("a bounded part of each message, so that one cannot take another's place", () => {
    const long = userMessage("a ".repeat(LONGEST_TEXT));
    const text = searchableText([long, userMessage("needle")]);
    expect(text.endsWith(" needle")).toBe(true);
    expect(text.length).toBeLessThanOrEqual(LONGEST_TEXT + 10);
  });

  test("nothing of no messages", () => {
    expect(searchableText([])).toBe("");
  });
});
