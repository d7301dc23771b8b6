/** A regular expression as a tree, just as far as a backtracking matcher needs it. */
export type Pattern =
  /** One character; `holds` asks the engine itself, so classes, escapes and case folding are its own. */
  | { readonly kind: "one"; readonly holds: (character: string) => boolean }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "choice"; readonly options: readonly Pattern[] }
  | {
      readonly kind: "repeat";
      readonly of: Pattern;
      readonly least: number;
      readonly most: number;
      readonly greedy: boolean;
      /** The groups inside, which every turn begins without. */
      readonly groups: readonly [from: number, to: number];
    }
  | { readonly kind: "group"; readonly of: Pattern; readonly index: number }
  | { readonly kind: "look"; readonly of: Pattern; readonly behind: boolean; readonly negative: boolean }
  | { readonly kind: "edge"; readonly edge: "start" | "end" | "word" | "inside" }
  | { readonly kind: "again"; readonly index: number };

export interface ParsedPattern {
  readonly root: Pattern;
  readonly groups: number;
}

const ATOM =
  /\[\^?\]?(?:[^\]\\]|\\.)*\]|\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|0|.)|[\s\S]/suy;
const QUANTIFIER = /([*+?])(\??)|\{(\d+)(?:(,)(\d*))?\}(\??)/y;
const LOOK = /\(\?(<?)([=!])/y;
const GROUP = /\((?:\?<[A-Za-z_$][\w$]*>)?(?!\?)/y;

/** Reads what the engine has accepted already, so nothing here is a check of the syntax. */
export function parsePattern(source: string, flags: string): ParsedPattern {
  const foldingFlags = flags.replace(/[^iusv]/g, "");
  let at = 0;
  let groups = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };

  const choice = (): Pattern => {
    const options = [sequence()];
    while (source[at] === "|") {
      at++;
      options.push(sequence());
    }
    return options.length === 1 ? (options[0] as Pattern) : { kind: "choice", options };
  };
  const sequence = (): Pattern => {
    const parts: Pattern[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      const before = groups;
      const part = term();
      parts.push(repeated(part, [before, groups]));
    }
    return parts.length === 1 ? (parts[0] as Pattern) : { kind: "sequence", parts };
  };
  const repeated = (of: Pattern, inside: readonly [number, number]): Pattern => {
    const found = take(QUANTIFIER);
    if (found === null) return of;
    const [, sign, lazySign, least, comma, most, lazyBounds] = found;
    if (sign !== undefined)
      return {
        kind: "repeat",
        of,
        least: sign === "+" ? 1 : 0,
        most: sign === "?" ? 1 : Number.POSITIVE_INFINITY,
        greedy: lazySign === "",
        groups: inside,
      };
    const bound = comma === undefined ? Number(least) : most === "" ? Number.POSITIVE_INFINITY : Number(most);
    return { kind: "repeat", of, least: Number(least), most: bound, greedy: lazyBounds === "", groups: inside };
  };
  const closed = (): Pattern => {
    const inner = choice();
    at++;
    return inner;
  };
  const term = (): Pattern => {
    const look = take(LOOK);
    if (look !== null) return { kind: "look", behind: look[1] === "<", negative: look[2] === "!", of: closed() };
    if (source.startsWith("(?:", at)) {
      at += 3;
      return closed();
    }
    if (take(GROUP) !== null) {
      const index = ++groups;
      return { kind: "group", index, of: closed() };
    }
    if (source[at] === "(" || source.startsWith("\\k", at)) throw new Error(`cannot read /${source}/ at ${at}`);
    const atom = take(ATOM)?.[0] ?? "";
    if (atom === "^") return { kind: "edge", edge: "start" };
    if (atom === "$") return { kind: "edge", edge: "end" };
    if (atom === "\\b") return { kind: "edge", edge: "word" };
    if (atom === "\\B") return { kind: "edge", edge: "inside" };
    if (/^\\[1-9]$/.test(atom)) return { kind: "again", index: Number(atom[1]) };
    const single = new RegExp(`^(?:${atom})$`, foldingFlags);
    const known = new Map<string, boolean>();
    return {
      kind: "one",
      holds: (character) => {
        const before = known.get(character);
        if (before !== undefined) return before;
        const now = single.test(character);
        known.set(character, now);
        return now;
      },
    };
  };
  const root = choice();
  return { root, groups };
}
