import { type Pattern, parsePattern } from "./parse-pattern.ts";

/** A text that grows: something before, a piece that is repeated, something after that spoils the match. */
export interface Attack {
  readonly before: string;
  readonly piece: string;
  readonly after: string;
}

export function textOf({ before, piece, after }: Attack, length: number): string {
  return before + piece.repeat(Math.ceil(length / piece.length)) + after;
}

/** Ends that spoil a match. Characters that the pattern excludes somewhere are ends too, with a new line behind them. */
const ENDS = ["", "\u0000", "\n!"];
const MOST_EXCLUDED = 2;
/** How many of each kind a pattern is tried with, the shortest first: what costs much shows in short pieces. */
const MOST_CHARACTERS = 11;
const MOST_PIECES = 150;
const MOST_BEFORE = 4;
const PROBES = [
  ..."a0- _\n.\t:/@\"'\\,;=+>`<[]{}()!?#%&*|~^$",
  ..."bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789",
  ..."\r\u0001\u007f\u00e9\u6f22\u0301\u200b\u2028",
  "\ud800",
  "\u{1f600}",
];

/**
 * Texts that are made to cost a pattern much: every part of it, every run of neighbouring parts and every two
 * characters that it tells apart, repeated, each behind what may have to stand before it, and with an end that fails.
 */
export function attacksOn(source: string, flags: string): readonly Attack[] {
  const { root } = parsePattern(source, flags);
  const alphabet = alphabetOf(root);
  const pieces = new Set<string>();
  const befores = new Set<string>([""]);
  const sampled = (pattern: Pattern, style: number, turns = 1): string => sample(pattern, alphabet, style, turns);
  const visit = (pattern: Pattern, heads: readonly string[]): void => {
    for (const style of [0, 1, 2]) for (const turns of [1, 2, 0]) pieces.add(sampled(pattern, style, turns));
    if (pattern.kind === "choice") for (const option of pattern.options) visit(option, heads);
    if ("of" in pattern) visit(pattern.of, heads);
    if (pattern.kind !== "sequence") return;
    const parts = inWords(pattern.parts);
    const text = (from: number, to: number, style: number): string =>
      parts
        .slice(from, to)
        .map((part) => sampled(part, style))
        .join("");
    parts.forEach((part, from) => {
      const ahead = heads.map((head, style) => head + text(0, from, style));
      for (const head of ahead) befores.add(head);
      for (let to = from + 2; to <= parts.length; to++)
        for (const style of [0, 1, 2]) pieces.add(text(from, to, style));
      if (!isWord(part)) visit(part, ahead);
    });
  };
  visit(root, ["", ""]);

  const short = shortest(pieces, 20);
  const characters = alphabet.slice(0, MOST_CHARACTERS).map(({ character }) => character);
  const pairs = characters.flatMap((one) => characters.map((other) => one + other));
  const joined = short.flatMap((piece) => characters.map((character) => piece + character));
  const repeated = new Set([...shortest(pieces, MOST_PIECES), ...(hasLoop(root) ? [...pairs, ...joined] : [])]);
  repeated.delete("");
  const excluded = alphabet.filter(({ isExcluded }) => isExcluded).slice(-MOST_EXCLUDED);
  const ends = [...ENDS, ...excluded.map(({ character }) => `${character}\n`)];
  const heads = shortest(befores, MOST_BEFORE);
  return [...repeated].flatMap((piece) => heads.flatMap((before) => ends.map((after) => ({ before, piece, after }))));
}

const shortest = (texts: Iterable<string>, most: number): readonly string[] =>
  [...texts].sort((a, b) => a.length - b.length).slice(0, most);

interface Letter {
  readonly character: string;
  /** Whether a class takes everything but some characters, and this is one of those. */
  readonly isExcluded: boolean;
}

/** One character for all that no part of the pattern tells apart, those that most parts take first. */
function alphabetOf(root: Pattern): readonly Letter[] {
  const ones: (Pattern & { kind: "one" })[] = [];
  const visit = (pattern: Pattern): void => {
    if (pattern.kind === "one") ones.push(pattern);
    if (pattern.kind === "choice") pattern.options.forEach(visit);
    if (pattern.kind === "sequence") pattern.parts.forEach(visit);
    if ("of" in pattern) visit(pattern.of);
  };
  visit(root);
  const excluding = ones.filter(({ holds }) => holds("\u0001") && holds("\u6f22"));
  const letters = new Map<string, Letter & { readonly taken: number }>();
  for (const character of PROBES) {
    const taken = ones.map(({ holds }) => holds(character));
    const told = `${taken.map(Number).join("")} ${/\w/.test(character)} ${/[\n\r\u2028]/.test(character)}`;
    if (letters.has(told)) continue;
    const isExcluded = excluding.some(({ holds }) => !holds(character));
    letters.set(told, { character, isExcluded, taken: taken.filter(Boolean).length });
  }
  return [...letters.values()]
    .filter(({ taken, isExcluded }) => taken > 0 || isExcluded)
    .sort((a, b) => b.taken - a.taken);
}

/** A text that the pattern takes, or a part of one. */
function sample(pattern: Pattern, alphabet: readonly Letter[], style: number, turns: number): string {
  const sampled = (part: Pattern): string => sample(part, alphabet, style, turns);
  switch (pattern.kind) {
    case "one": {
      const taken = alphabet.filter(({ character }) => pattern.holds(character));
      return taken[style % Math.max(1, taken.length)]?.character ?? "";
    }
    case "sequence":
      return pattern.parts.map(sampled).join("");
    case "choice":
      return sampled(pattern.options[style % pattern.options.length] as Pattern);
    case "repeat":
      return sampled(pattern.of).repeat(Math.min(Math.max(pattern.least, turns), pattern.most, 200));
    case "group":
      return sampled(pattern.of);
    case "look":
      return pattern.behind && !pattern.negative ? sampled(pattern.of) : "";
    case "edge":
    case "again":
      return "";
  }
}

function hasLoop(pattern: Pattern): boolean {
  if (pattern.kind === "repeat" && pattern.most === Number.POSITIVE_INFINITY) return true;
  if (pattern.kind === "choice") return pattern.options.some(hasLoop);
  if (pattern.kind === "sequence") return pattern.parts.some(hasLoop);
  return "of" in pattern && hasLoop(pattern.of);
}

/** Characters in a row that stand for nothing but themselves are one part. */
function inWords(parts: readonly Pattern[]): readonly Pattern[] {
  const joined: Pattern[] = [];
  let word: Pattern[] = [];
  const end = (): void => {
    if (word.length > 0) joined.push({ kind: "sequence", parts: word });
    word = [];
  };
  for (const part of parts) {
    if (isLiteral(part)) word.push(part);
    else {
      end();
      joined.push(part);
    }
  }
  end();
  return joined;
}

const isWord = (pattern: Pattern): boolean => pattern.kind === "sequence" && pattern.parts.every(isLiteral);

const isLiteral = (pattern: Pattern): boolean =>
  pattern.kind === "one" && new Set(PROBES.filter(pattern.holds).map((probe) => probe.toLowerCase())).size === 1;
