import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";

export interface WrittenPattern {
  /** The file and the line, to be found again. */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

export interface PatternsOfFile {
  readonly path: string;
  /** Those that stand there as they are. */
  readonly written: readonly WrittenPattern[];
  /** Lines where a pattern is put together while the program runs, so that its text is not in the file. */
  readonly built: readonly number[];
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Every regular expression of the product, whatever room it is in; of tests, none. */
export function patternsInSource(): readonly PatternsOfFile[] {
  return readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".test.ts"))
    .sort()
    .map((path) => patternsIn(`src/${path}`, readFileSync(`${ROOT}src/${path}`, "utf8")));
}

export function patternsIn(path: string, text: string): PatternsOfFile {
  const written: WrittenPattern[] = [];
  const built: number[] = [];
  const lineAt = (at: number): number => text.slice(0, at).split("\n").length;
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, start = 0, regex, callee } = node as Partial<SyntaxNode>;
    if (type === "Literal" && regex !== undefined)
      written.push({ place: `${path}:${lineAt(start)}`, source: regex.pattern, flags: regex.flags });
    if ((type === "NewExpression" || type === "CallExpression") && callee?.name === "RegExp") built.push(lineAt(start));
    for (const inner of Object.values(node)) walk(inner);
  };
  walk(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }));
  return { path, written, built };
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly regex: { readonly pattern: string; readonly flags: string };
  readonly callee: { readonly name?: string };
}

/** The patterns that are put together while this is done. */
export async function patternsBuiltBy(work: () => Promise<unknown>): Promise<readonly RegExp[]> {
  const built: RegExp[] = [];
  const real = globalThis.RegExp;
  globalThis.RegExp = new Proxy(real, {
    construct(target, given) {
      const pattern = Reflect.construct(target, given) as RegExp;
      built.push(pattern);
      return pattern;
    },
  });
  try {
    await work();
  } finally {
    globalThis.RegExp = real;
  }
  return built;
}
