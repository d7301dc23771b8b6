/** What stands in a TypeScript file apart from what is merely written in its comments and strings. */
export interface SourceText {
  /** The same text with comments and the contents of strings, templates and patterns blanked out. */
  readonly code: string;
  /** Every module it names: `import`, `export … from`, `import()`. */
  readonly imports: readonly string[];
}

const PATTERN_MAY_FOLLOW = /(?:^|[=(,:;[{}!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|yield|await))\s*$/;

/** Parses just enough: quotes, comments, templates with code inside, and patterns where a value may stand. */
export function readSource(text: string): SourceText {
  let code = "";
  let at = 0;
  /** The depths of braces at which a template goes on. */
  const templates: number[] = [];
  let depth = 0;
  const imports: string[] = [];
  const blank = (end: number): string => {
    const taken = text.slice(at, end);
    code += taken.replace(/[^\n]/g, " ");
    at = end;
    return taken;
  };
  const template = (): void => {
    const end = endOf(/(?:[^\\`$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y);
    if (blank(end).endsWith("${")) templates.push(depth++);
  };
  const endOf = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.test(text) ? pattern.lastIndex : text.length;
  };
  while (at < text.length) {
    const here = text[at];
    if (text.startsWith("//", at)) blank(endOf(/[^\n]*/y));
    else if (text.startsWith("/*", at)) blank(endOf(/\/\*[\s\S]*?\*\//y));
    else if (here === '"' || here === "'") {
      const named = /(?:\bfrom\s*|\bimport\s*\(?\s*)$/.test(code.slice(-40));
      const quoted = blank(endOf(here === '"' ? /"(?:[^\\"\n]|\\.)*"/y : /'(?:[^\\'\n]|\\.)*'/y));
      if (named) imports.push(quoted.slice(1, -1));
    } else if (here === "`") {
      blank(at + 1);
      template();
    } else if (here === "/" && PATTERN_MAY_FOLLOW.test(code.slice(-20))) {
      blank(endOf(/\/(?:[^\\/[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+\/[a-z]*/y));
    } else if (here === "}" && templates.at(-1) === depth - 1) {
      depth = templates.pop() ?? 0;
      blank(at + 1);
      template();
    } else {
      if (here === "{") depth++;
      if (here === "}") depth--;
      code += here;
      at++;
    }
  }
  return { code, imports };
}
