/**
 * How many tokens a text is, about: by the kinds of its characters, without any
 * provider's tokenizer. Those are megabytes, and each is right for one family of
 * models only. What remains wrong is corrected from the usage that a model
 * reports (`calibrate`).
 */
export type TokenCounter = (text: string) => number;

/** Fitted to a current tokenizer; the test holds the samples and what it counts. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  const plain = text.replace(/[A-Za-z0-9+/_-]{24,}={0,2}/g, (run) => {
    if (!isEncoded(run)) return run;
    tokens += run.length / 1.6;
    return "";
  });
  for (const [pattern, ofRun] of KINDS) for (const run of plain.match(pattern) ?? []) tokens += ofRun(run.length);
  return Math.ceil(tokens);
}

/** A key, a hash or encoded bytes: as long as no word is, with digits or changing cases all along. */
const isEncoded = (run: string): boolean => (run.match(/\d|[a-z][A-Z]/g)?.length ?? 0) > run.length / 12;

const SYLLABLES = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}";
const RIGHT_TO_LEFT = "\\p{Script=Arabic}\\p{Script=Hebrew}";

/** Runs of one kind, and the tokens of a run by its length. */
const KINDS: readonly (readonly [RegExp, (length: number) => number])[] = [
  // A space goes with the word behind it.
  [/[A-Za-z ]+/g, (length) => length / 5],
  [/\d+/g, (length) => Math.ceil(length / 3)],
  // Signs that often stand together, such as `":{"`, are one token.
  [/[!-/:-@[-`{-~]+/g, (length) => 0.6 + length / 6],
  [new RegExp(`[${SYLLABLES}]+`, "gu"), (length) => length / 1.35],
  [new RegExp(`[${RIGHT_TO_LEFT}]+`, "gu"), (length) => length / 2.3],
  [new RegExp(`(?:(?![A-Za-z${SYLLABLES}${RIGHT_TO_LEFT}])[\\p{L}\\p{M}])+`, "gu"), (length) => length / 3.2],
  [/\p{Extended_Pictographic}/gu, () => 2.3],
  [/\n/g, () => 0.5],
];
