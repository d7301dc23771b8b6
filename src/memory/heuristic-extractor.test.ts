import { describe, expect, test } from "vitest";
import { admit } from "./admission.ts";
import { heuristicExtractor } from "./heuristic-extractor.ts";
import type { Fact } from "./memory.ts";

const signal = new AbortController().signal;
const extracted = async (text: string, role: "user" | "assistant" = "user"): Promise<readonly Fact[]> =>
  (await heuristicExtractor().extract({ messages: [{ index: 0, role, text }], known: [], signal })) as readonly Fact[];

describe("finds what is said plainly", () => {
  test.each<[string, string, string, string]>([
    ["Hi, my name is Ines Keller.", "user", "name", "Ines Keller"],
    ["I live in Zurich.", "user", "home", "Zurich"],
    ["Actually, I just moved to Bern.", "user", "home", "Bern"],
    ["I'm based in New York now!", "user", "home", "New York"],
    ["I work for Alpenbank.", "user", "employer", "Alpenbank"],
    ["I'm a senior data engineer", "user", "occupation", "senior data engineer"],
    ["I am allergic to peanuts.", "user", "allergy", "peanuts"],
    ["I'm vegan now.", "user", "diet", "vegan"],
    ["My favorite color is dark green.", "user", "favourite color", "dark green"],
    ["My sister is called Mara.", "user", "sister's name", "Mara"],
    ["I prefer trains to planes.", "user", "preference", "trains to planes"],
    ["Please always answer in German.", "feedback", "standing wish", "always answer in German"],
    ["Never send mail before I have seen it.", "feedback", "standing wish", "Never send mail before I have seen it"],
    ["The ledger deadline is 3 March.", "project", "deadline", "3 March"],
    ["The ledger runbook is in the team wiki.", "reference", "place", "the team wiki"],
  ])("%s", async (text, type, attribute, value) => {
    const found = await extracted(text);
    expect(found).toMatchObject([{ type, attribute, value }]);
    expect(admit(found[0], [{ index: 0, role: "user", text }], false)).toMatchObject({ decision: "store" });
  });
});

describe("leaves alone", () => {
  test.each([
    "Do I live in Zurich?",
    "If I lived in Bern, would it be cheaper?",
    "She said my name is Bob.",
    "> I live in Paris.",
    "```\nI live in Paris.\n```",
    'The letter reads: "I live in Paris."',
    "Maybe I work for Alpenbank.",
    "I used to live in Rome.",
    "I live in fear.",
    "Translate: my name is Bob.",
    "always",
    "",
  ])("%j", async (text) => {
    expect(await extracted(text)).toEqual([]);
  });

  test("what the assistant says", async () => {
    expect(await extracted("I live in Zurich.", "assistant")).toEqual([]);
  });

  test("a hundred thousand characters without an end, in good time", async () => {
    for (const unit of ["my favourite ", "I prefer ", "no, ", "The a b ", "I am a a a "]) {
      expect(await extracted(unit.repeat(10_000))).toEqual([]);
    }
  });
});
