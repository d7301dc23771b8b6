import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FOLDERS = ["src", "test", "scripts", "bench", "examples", "docs"];
const PAGES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/** Each pattern, with what to write instead. */
const AVOIDED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [
    /\b(?:whoever|nobody|somebody|anybody|everybody)\b/i,
    "say who: the caller, the process, the writer, the owner, the client, the reader, a person",
  ],
  [/\btold so\b/i, "gets an error, is refused, learns that …"],
  [/\bin silence\b/i, "silently"],
  [/\bwithout a word\b/i, "silently, or without saying why"],
  [/\bgone on (?:with|from)\b/i, "continued, resumed"],
  [/\bone's own\b/i, "name the owner: the user's driver, a server for this test"],
  [/\bknows? of none\b/i, "has none"],
  [/\bwhat is known of\b/i, "name it: the state, the facts"],
  [/\bthose who wait\b/i, "the waiting calls"],
  [/\bso many (?:are|items|bytes|rows|threads|messages|records|calls|turns)\b/i, "this many, at most n"],
  [/\bhears? of (?:it|its|a failure|this)\b/i, "gets the error, is notified"],
  [/\bis that for each of\b/i, "a sentence with a subject"],
];

/** Leaves out this file's patterns, and `nobody` where it is an account of the operating system. */
const readable = (path: string, text: string): string =>
  path === "test/words.test.ts" ? "" : text.replace(/unprivilegedUser\([^)]*\)/g, "");

async function texts(): Promise<readonly (readonly [path: string, text: string])[]> {
  const found = await Promise.all(
    FOLDERS.map(async (folder) => {
      const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && /\.(?:tsx?|html|sql|md)$/.test(entry.name))
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join("/"))
        .filter((path) => !/(?:^|\/)node_modules\//.test(path) && !path.startsWith("bench/results/"));
    }),
  );
  return Promise.all(
    [...found.flat(), ...PAGES].map(async (path) => [path, await readFile(join(ROOT, path), "utf8")] as const),
  );
}

test("every sentence says who acts, and none keeps a phrase that reads as translated", async () => {
  const all = await texts();
  expect(all.length).toBeGreaterThan(1000);
  const found = all.flatMap(([path, text]) =>
    readable(path, text)
      .split("\n")
      .flatMap((line, index) =>
        AVOIDED.flatMap(([pattern, instead]) => {
          const [phrase] = pattern.exec(line) ?? [];
          return phrase === undefined ? [] : [`${path}:${index + 1}: "${phrase}" → ${instead}`];
        }),
      ),
  );
  expect(found).toEqual([]);
});
