import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ERROR_CODES } from "../src/errors.ts";

/** Written by `npm run sync`, and not packed. */
const REFERENCE = ["reference/cli.md", "reference/options.md"];

/** The fragments that the headings of a page can be linked by, as GitHub makes them. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(
    ([, title = ""]) =>
      `#${title
        .toLowerCase()
        .replace(/\]\([^)]*\)/g, "")
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replace(/\s/g, "-")}`,
  );

describe("the pages in docs/", () => {
  const docs = new URL("../docs/", import.meta.url);
  const pages = async (): Promise<readonly (readonly [name: string, text: string])[]> => {
    const names = (await readdir(docs)).filter((name) => name.endsWith(".md"));
    return Promise.all(names.map(async (name) => [name, await readFile(new URL(name, docs), "utf8")] as const));
  };

  test("every error code is in the table of errors.md, with what it means", async () => {
    const text = await readFile(new URL("errors.md", docs), "utf8");
    const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (yes|no|it depends) \| (.*) \|$/gm)].map(
      ([, ...cells]) => cells,
    );
    const codes = Object.entries(ERROR_CODES).map(([code, { retryable, means }]) => [
      code,
      // A provider's failure says itself whether it may pass.
      code === "MODEL_FAILED" ? "it depends" : retryable ? "yes" : "no",
      means,
    ]);
    expect(rows).toEqual(codes);
  });

  test("what users look for first is where they look", async () => {
    const [readme, agent] = await Promise.all(
      ["../README.md", "agent.md"].map((page) => readFile(new URL(page, docs), "utf8")),
    );
    for (const text of ["npm install holdfast", "ES module", "npm install better-sqlite3"])
      expect(readme).toContain(text);
    for (const text of ["agent.close()", "metadata", "hooks:", "(long-term-memory.md)", "(conversation.md)"]) {
      expect(agent).toContain(text);
    }
  });

  test("what they show runs untranspiled on Node 20 and 22, which do not know `using`", async () => {
    const readme = ["README.md", await readFile(new URL("../README.md", docs), "utf8")] as const;
    for (const [name, text] of [...(await pages()), readme]) {
      for (const [, code = ""] of text.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)) {
        expect(code, name).not.toMatch(/\busing\s+\w+\s*=/);
      }
    }
  });

  test("every link leads to a file and a heading that are there", async () => {
    for (const name of ["../README.md", "../SECURITY.md", ...(await pages()).map(([page]) => page), ...REFERENCE]) {
      const page = new URL(name, docs);
      for (const [, link = ""] of (await readFile(page, "utf8")).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
        const target = new URL(link, page);
        const text = await readFile(new URL(target.pathname, target), "utf8");
        if (target.hash !== "") expect(anchorsOf(text), `${name} → ${link}`).toContain(target.hash);
      }
    }
  });

  test("every command they name exists", async () => {
    const { scripts } = JSON.parse(await readFile(new URL("../package.json", docs), "utf8")) as { scripts: object };
    for (const [name, text] of await pages()) {
      for (const [, script = ""] of text.matchAll(/\bnpm run ([a-z:]+)/g))
        expect(scripts, name).toHaveProperty([script]);
      for (const [, script = ""] of text.matchAll(/\bnpm (start|test)\b/g))
        expect(scripts, name).toHaveProperty(script);
      for (const [, path = ""] of text.matchAll(/\bnpx tsx ([\w./-]+\.ts)/g)) {
        await expect(readFile(new URL(`../${path}`, docs)), `${name}: ${path}`).resolves.toBeDefined();
      }
    }
  });
});

describe("ARCHITECTURE.md", () => {
  const root = new URL("../", import.meta.url);
  const page = (): Promise<string> => readFile(new URL("ARCHITECTURE.md", root), "utf8");
  const decisions = async (): Promise<readonly string[]> => {
    const folder = new URL("docs/decisions/", root);
    return Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), "utf8")));
  };
  const section = (text: string, title: string): string =>
    text.slice(text.indexOf(`## ${title}`), text.indexOf("\n## ", text.indexOf(`## ${title}`)));

  test("names five files that are read in an hour: they are there, and have at most 1,500 lines together", async () => {
    const named = [...section(await page(), "A first hour").matchAll(/^\d\. `(src\/\S+\.ts)`/gm)].map(
      ([, path = ""]) => path,
    );
    expect(named).toHaveLength(5);
    const texts = await Promise.all(named.map((path) => readFile(new URL(path, root), "utf8")));
    expect(texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0)).toBeLessThanOrEqual(1500);
  });

  test("its map names every folder of src down to the second level, and none that is not there", async () => {
    const named = [...section(await page(), "The map").matchAll(/^\| `([a-z/-]+)\/` \|/gm)].map(
      ([, path = ""]) => path,
    );
    // What these hold are peers of one kind, or parts that one program alone has: the room's own line is enough.
    const shelves = /^(?:backends|providers|adapters|cli|studio|testing|entry)\//;
    const entries = await readdir(new URL("src/", root), { recursive: true, withFileTypes: true });
    const folders = entries
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => relative(fileURLToPath(new URL("src/", root)), join(parentPath, name)))
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.split("/").length <= 2 && !shelves.test(path));
    expect(named.toSorted()).toEqual(folders.toSorted());
  });

  test("every file that it and the decisions name is there", async () => {
    const entries = await readdir(new URL("src/", root), { recursive: true });
    const there = new Set(entries.map((entry) => entry.slice(entry.lastIndexOf(sep) + 1)));
    const texts = [await page(), ...(await decisions())];
    const named = texts.flatMap((text) =>
      [...text.matchAll(/(?<![\w./>-])[a-z][a-z0-9-]*\.ts\b/g)].map(([name]) => name),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !there.has(name))).toEqual([]);
  });

  test("it is read in a quarter of an hour, and each decision in a minute", async () => {
    const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;
    expect(wordsOf(await page())).toBeLessThanOrEqual(1500);
    const long = (await decisions())
      .flatMap((text) => text.split(/^## /m).slice(1))
      .filter((decision) => wordsOf(decision) > 150);
    expect(long).toEqual([]);
  });
});
