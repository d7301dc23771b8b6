import { readdir, readFile } from "node:fs/promises";
import { join, matchesGlob, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type SourceFile, violationsIn } from "./architecture-rules.ts";
import { readSource } from "./source-text.ts";
import { FILES } from "./tiers.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

async function filesUnder(folder: string, names = /\.ts$/): Promise<SourceFile[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && names.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.map(async (path) => ({
      path: relative(ROOT, path).split(sep).join("/"),
      text: await readFile(path, "utf8"),
    })),
  );
}

test("files, names, imports and comments of src keep the rules of architecture-rules.ts", async () => {
  const files = await filesUnder("src");
  expect(files.length).toBeGreaterThan(30);
  expect(violationsIn(files)).toEqual([]);
});

test("Studio's page makes no markup of text, runs no text, and shares with the server nothing but types and routes", async () => {
  const files = await filesUnder("src/studio/page", /\.tsx?$/);
  expect(files.length).toBeGreaterThan(20);
  const sinks =
    /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|style="/;
  for (const { path, text } of files) {
    expect([path, sinks.exec(text)?.[0]]).toEqual([path, undefined]);
    for (const [, target = ""] of text.matchAll(/^import (?!type)[^;]*? from "(\.\.\/(?:\.\.\/)?[\w-]+\.ts)"/gm)) {
      const isOfPage = files.some((file) => file.path === new URL(target, `file:///${path}`).pathname.slice(1));
      expect([path, target, isOfPage || target.endsWith("routes.ts")]).toEqual([path, target, true]);
    }
  }
});

test("every source is read to its end: its braces balance once comments and strings are blanked out", async () => {
  for (const { path, text } of await filesUnder("src")) {
    const braces = [...readSource(text).code].filter((character) => "{}".includes(character));
    const open = braces.filter((character) => character === "{").length;
    expect(open, path).toBe(braces.length / 2);
  }
});

test("every test that asks for a server is run by a command that has it: npm test has PostgreSQL alone", async () => {
  const isRunBy = (tier: "servers" | "wide", path: string): boolean =>
    FILES[tier].include.some((glob) => matchesGlob(path, glob)) &&
    !FILES[tier].exclude.some((glob) => matchesGlob(path, glob));
  const asking = [...(await filesUnder("test", /\.test\.ts$/)), ...(await filesUnder("src", /\.test\.ts$/))].filter(
    ({ path, text }) =>
      !path.startsWith("test/campaigns/") &&
      [...text.matchAll(/\bdescribeWith\w+\(\s*([^,)]*)/g)].some(([, first]) => first !== '"postgres"'),
  );
  expect(asking.length).toBeGreaterThan(30);
  const unheard = asking.filter(({ path }) => !isRunBy("servers", path) && !isRunBy("wide", path));
  expect(unheard.map(({ path }) => path)).toEqual([]);
});

/** The violations of one made-up file, without its name. */
const faults = (path: string, text: string): string[] =>
  violationsIn([{ path, text }])
    .filter((violation) => !violation.includes(" has no "))
    .map((violation) => violation.replace(path, "").replace(/^[: ]+/, ""));

/** Made-up sources with "<<" where a template begins a hole: written plainly, it would be taken for a slip. */
const withHoles = (text: string): string => text.replaceAll("<<", "$" + "{");

describe("imports point one way", () => {
  const refused: readonly [path: string, specifier: string][] = [
    ["src/errors.ts", "./internal/redact.ts"],
    ["src/internal/a.ts", "../state/codec.ts"],
    ["src/state/a.ts", "../checkpoint/record.ts"],
    ["src/checkpoint/a.ts", "../backends/memory/index.ts"],
    ["src/checkpoint/a.ts", "../store/store.ts"],
    ["src/checkpoint/dict/a.ts", "../../testing/run-case.ts"],
    ["src/backends/file/a.ts", "../sqlite/rows.ts"],
    ["src/backends/file/a.ts", "../../testing/run-case.ts"],
    ["src/backends/redis/a.ts", "../../wire/status.ts"],
    ["src/backends/open.ts", "./file/layout.ts"],
    ["src/testing/a.ts", "../backends/memory/log.ts"],
    ["src/testing/cases/a.ts", "../../backends/registry.ts"],
    ["src/agent/loop.ts", "../backends/memory/index.ts"],
    ["src/agent/loop.ts", "../providers/openai/index.ts"],
    ["src/agent/loop.ts", "../index.ts"],
    ["src/providers/openai/a.ts", "../google/index.ts"],
    ["src/providers/openai/a.ts", "../../checkpoint/record.ts"],
    ["src/server/a.ts", "../backends/memory/index.ts"],
    ["src/wire/a.ts", "../server/a.ts"],
    ["src/store/driver/a.ts", "../search/filter.ts"],
    ["src/store/writing/a.ts", "../store.ts"],
    ["src/store/key-value/a.ts", "../sql-store/sql.ts"],
    ["src/state/a.ts", "../state/codec.test.ts"],
    ["src/state/a.ts", "../../test/exact-form.ts"],
    ["src/state/a.ts", "./codec.js"],
    ["src/state/a.ts", "./codec"],
    ["src/state/a.ts", "holdfast/testing"],
    ["src/unheard-of/a.ts", "../state/codec.ts"],
  ];
  test.each(refused)("%s may not import %s", (path, specifier) => {
    const forms = [
      `import { a } from "${specifier}";`,
      `import type { A } from '${specifier}';`,
      `import {\n  a,\n  b,\n} from "${specifier}";`,
      `import "${specifier}";`,
      `export * from "${specifier}";`,
      `export { a } from "${specifier}";`,
      `const load = () => import("${specifier}");`,
      `const load = () => import( '${specifier}' );`,
    ];
    for (const form of forms) expect(faults(path, form), form).toHaveLength(1);
  });

  const allowed: readonly [path: string, specifier: string][] = [
    ["src/state/a.ts", "../errors.ts"],
    ["src/state/a.ts", "./codec.ts"],
    ["src/state/a.ts", "node:crypto"],
    ["src/store/search/a.ts", "../driver/namespaces.ts"],
    ["src/store/store.ts", "./writing/writing.ts"],
    ["src/store/new-floor/a.ts", "../store.ts"],
    ["src/checkpoint/dict/a.ts", "../record.ts"],
    ["src/backends/file/a.ts", "../../checkpoint/thread-log.ts"],
    ["src/backends/file/a.ts", "./layout.ts"],
    ["src/backends/http/a.ts", "../../wire/status.ts"],
    ["src/backends/registry.ts", "./file/index.ts"],
    ["src/backends/file/index.ts", "../registry.ts"],
    ["src/backends/sqlite/a.ts", "better-sqlite3"],
    ["src/testing/a.ts", "../checkpoint/thread-log.ts"],
    ["src/testing/a.test.ts", "../backends/memory/index.ts"],
    ["src/providers/openai/a.ts", "../ai-sdk/index.ts"],
    ["src/index.ts", "./backends/memory/index.ts"],
    ["src/cli/a.ts", "../backends/open.ts"],
    ["src/wiring/a.ts", "../backends/open.ts"],
  ];
  test.each(allowed)("%s may import %s", (path, specifier) => {
    expect(faults(path, `import { a } from "${specifier}";`)).toEqual([]);
  });
});

describe("in a source file", () => {
  const refused: readonly [what: string, text: string][] = [
    ["a default export", "export default function f() {}"],
    ["a renamed default export", "const f = 1; export { f as default };"],
    ["any", "export const f = (x: any): void => undefined;"],
    ["any in a generic", "const m = new Map<string, any>();"],
    ["an assertion that something is there", "const a = list[0]!.b;"],
    ["the same after a call", "const a = f()!;"],
    ["ts-ignore", "// @ts-ignore\nf();"],
    ["ts-expect-error", "// @ts-expect-error wrong on purpose\nf();"],
    ["Date.now", "const at = Date.now();"],
    ["a new Date of now", "const at = new Date();"],
    ["Math.random", "const id = Math.random();"],
    ["performance.now", "const t = performance.now();"],
    ["any inside a template", withHoles("const text = `<<(x as any).y}`;")],
  ];
  test.each(refused)("%s is refused", (_, text) => {
    expect(faults("src/state/a.ts", text)).toHaveLength(1);
    expect(faults("src/state/a.test.ts", text), "but a test may").toEqual([]);
  });

  const allowed: readonly string[] = [
    "// any default! Date.now @ts\nexport const a = 1;",
    "/* export default any */ export const a = 1;",
    'const text = "export default any! Date.now()";',
    withHoles("const text = `as any! <<a} Math.random()`;"),
    withHoles('const text = `outer <<f(`inner "any" <<"}"} any`)} any`;'),
    "const pattern = /[\"'`]any!/g; const other = /any/;",
    "if (a !== b && a != c && !d) throw e;",
    "const at = new Date(0);",
    "await Promise.any(all);",
    "export const company = 1;",
    "const half = a / b / c;",
  ];
  test.each(allowed)("%s is fine", (text) => {
    expect(faults("src/state/a.ts", text)).toEqual([]);
  });

  test("a clock that is listed with a reason is fine, and the list holds nothing else", () => {
    expect(faults("src/checkpoint/context.ts", "this.now = options.now ?? Date.now;")).toEqual([]);
    expect(faults("src/checkpoint/context.ts", "export const a = 1;")).toHaveLength(1);
  });
});

describe("in the names and sizes of files", () => {
  test.each(["utils", "helpers", "common", "misc", "shared", "base", "manager", "string-utils", "test-helpers"])(
    "%s.ts is no name",
    (stem) => {
      expect(faults(`src/state/${stem}.ts`, "export const a = 1;")).toHaveLength(1);
      expect(faults(`src/state/${stem}.test.ts`, "test();")).toHaveLength(1);
    },
  );

  test.each(["base-checkpointer", "memory-manager", "commonmark", "library"])("%s.ts is one", (stem) => {
    expect(faults(`src/state/${stem}.ts`, "export const a = 1;")).toEqual([]);
  });

  test("a folder of more than fifteen sources is noticed; tests beside them do not count", () => {
    const files = Array.from({ length: 15 }, (_, index) => ({ path: `src/state/a${index}.ts`, text: "" }));
    expect(violationsIn([...files, { path: "src/state/a0.test.ts", text: "" }])).toEqual([]);
    const [violation, ...others] = violationsIn([...files, { path: "src/state/one-more.ts", text: "" }]);
    expect(violation).toContain("src/state has 16 sources");
    expect(others).toEqual([]);
  });

  test("a backend without a driver, a door or a proof is noticed", () => {
    const names = ["index.ts", "checkpointer.ts", "log.ts", "conformance.test.ts"];
    const files = names.map((name) => ({ path: `src/backends/redis/${name}`, text: "" }));
    for (const [index, name] of names.entries()) {
      expect(violationsIn(files.toSpliced(index, 1))).toEqual([`src/backends/redis has no ${name}`]);
    }
    expect(violationsIn(files)).toEqual([]);
  });
});

test("reading a source keeps its lines and finds every module it names", () => {
  const text = withHoles(
    'import { a } from "./a.ts";\nconst b = `x <<await import("./b.ts")} "./no.ts"`; // "./no.ts"\nexport * from "c";\n',
  );
  const { code, imports } = readSource(text);
  expect(imports).toEqual(["./a.ts", "./b.ts", "c"]);
  expect(code.split("\n")).toHaveLength(4);
  expect(code).not.toContain("no.ts");
});
