import { diffLines, diffWordsWithSpace } from "diff";

export interface DiffPiece {
  readonly text: string;
  readonly side: "both" | "before" | "after";
}

const WORDS_UP_TO = 100_000;
const TIMEOUT_MS = 200;

/** Words, or lines where there are too many; `undefined` where two texts are too different to align in time. */
export function textDiff(before: string, after: string): readonly DiffPiece[] | undefined {
  const options = { timeout: TIMEOUT_MS, maxEditLength: 2000 };
  const isLong = before.length + after.length > WORDS_UP_TO;
  const found = isLong ? diffLines(before, after, options) : diffWordsWithSpace(before, after, options);
  return found?.map(({ value, added, removed }) => ({
    text: value,
    side: added ? "after" : removed ? "before" : "both",
  }));
}
