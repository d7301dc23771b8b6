import { describe, expect, test } from "vitest";
import { textOf } from "./attacks.ts";
import { faultOf } from "./cost-of-patterns.ts";
import { patternsBuiltBy, patternsIn, patternsInSource } from "./patterns-in-source.ts";

/**
 * Files that put patterns together while they run. Either the patterns come into being when `made` is done, and are
 * looked at like all others, or there is a reason why no text from outside meets them.
 */
const BUILT: Readonly<Record<string, { readonly made: () => Promise<unknown> } | { readonly never: string }>> = {
  "src/conversation/estimate-tokens.ts": { made: () => import("../../src/conversation/estimate-tokens.ts") },
  "src/memory/plain-statements.ts": { made: () => import("../../src/memory/plain-statements.ts") },
  "src/wire/routes.ts": { made: () => import("../../src/wire/routes.ts") },
  "src/backends/oracle/classify.ts": {
    made: async () => (await import("../../src/backends/oracle/classify.ts")).oraNumbers({ code: "ORA-00001" }),
  },
  "src/adapters/langgraph/values.ts": {
    never: "a user's own pattern, given back as a value of the state; nothing here runs it",
  },
};

const FILES = patternsInSource();
const shown = (fault: ReturnType<typeof faultOf>) =>
  fault && `${fault.what}: ${JSON.stringify(textOf(fault.attack, 60))}`;

describe("no text can make a pattern take more than its length", () => {
  test.each(FILES.filter(({ written }) => written.length > 0))("$path", ({ written }) => {
    const faults = written.flatMap(({ place, source, flags }) => {
      const fault = faultOf(source, flags);
      return fault === undefined ? [] : [`${place} /${source}/${flags} ${shown(fault)}`];
    });
    expect(faults).toEqual([]);
  });

  for (const [path, row] of Object.entries(BUILT).filter(([, each]) => "made" in each))
    test(`${path}, put together while it runs`, async () => {
      const built = await patternsBuiltBy("made" in row ? row.made : async () => undefined);
      expect(built.length).toBeGreaterThan(0);
      const faults = built.flatMap(({ source, flags }) => {
        const fault = faultOf(source, flags);
        return fault === undefined ? [] : [`/${source}/${flags} ${shown(fault)}`];
      });
      expect(faults).toEqual([]);
    });
});

test("each file that puts patterns together has a row here that says how they are checked, or why they need not be", () => {
  const building = FILES.filter(({ built }) => built.length > 0).map(({ path }) => path);
  expect(building.sort()).toEqual(Object.keys(BUILT).sort());
});

describe("this test finds", () => {
  const found = (text: string) => patternsIn("src/some.tsx", text);

  test("patterns in code, and none in comments and strings", () => {
    const text = [
      "const a = /b+/g; // no /pattern/",
      'const c = "/d/"; const e = "x".split(/f/);',
      "const g = <p>{h / i / j}</p>;",
    ].join("\n");
    expect(found(text).written.map(({ source }) => source)).toEqual(["b+", "f"]);
    expect(found("new RegExp(a);\nRegExp(b)").built).toEqual([1, 2]);
  });

  test.each([
    ["blanks before an end", String.raw`\s+$`, ""],
    ["an anchored one with two loops side by side", String.raw`^\s*\n([\s\S]*?)\n?x$`, ""],
    ["a loop in a loop", "^(?:a+)+$", ""],
    ["two ways to take the same character", "(?:a|b|[ab])+c", ""],
    ["a lookahead that reads on from every beginning", String.raw`\bsk-(?=[a-z-]*[0-9])[a-z0-9-]{20,}`, "g"],
    ["a word that begins anew within itself", String.raw`\beyJ[\w-]{8,}\.eyJ`, "g"],
    ["a scheme whose letters may each be its first", String.raw`\b[a-z][a-z.]*:\/\/`, "i"],
    ["empty lines before a mark", String.raw`^\s*>.*$`, "gm"],
    ["text that is not closed", String.raw`"([^"\\]*(?:\\.[^"\\]*)*)":`, "g"],
    ["blanks in an element of a list", String.raw`[ \t]*(?:"x")?[ \t]*(?:,|$)`, "y"],
    ["a loop of pairs", "(?:ab)+(?:ab)+c", ""],
    ["a lookbehind that reads back", "(?<=a[^b]*)c", "g"],
  ])("%s", (_, source, flags) => {
    expect(faultOf(source, flags)).toBeDefined();
  });
});
