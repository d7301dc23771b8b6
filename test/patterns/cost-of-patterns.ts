import { type Attack, attacksOn, textOf } from "./attacks.ts";
import { CountingMatcher } from "./counting-matcher.ts";

/** What is wrong with a pattern, and the text that shows it; undefined where its cost grows with the text and no faster. */
export interface Fault {
  readonly what: string;
  readonly attack: Attack;
}

/** Long enough that a square shows beside what a short text costs anyway. */
const FIRST_LOOK = 200;
/** The costliest attacks are counted anew at lengths that users can send, the first of them at all. */
const FINALISTS = 8;
const SHORT = [4 * 1024, 8 * 1024, 16 * 1024];
const LONG = [...SHORT, 32 * 1024, 64 * 1024];
/** Per character of the text. More than any pattern of bounded parts takes; a square is beyond it before 8 KiB. */
const MOST_STEPS = 2_000;

/**
 * Counts what a pattern costs on the texts that are made against it: twice the text may be at most three times the
 * steps, from 4 to 64 KiB. Steps are those of a backtracking matcher, which must find what the engine finds.
 */
export function faultOf(source: string, flags: string): Fault | undefined {
  const matcher = new CountingMatcher(source, flags);
  const counted: { readonly attack: Attack; readonly cost: number }[] = [];
  for (const attack of attacksOn(source, flags)) {
    const text = textOf(attack, FIRST_LOOK);
    const { matches, steps } = matcher.count(text, MOST_STEPS * text.length);
    if (steps === undefined) return { what: `takes more than ${MOST_STEPS} steps a character`, attack };
    if (JSON.stringify(matches) !== JSON.stringify(foundByEngine(source, flags, text)))
      return { what: "is not matched here as the engine does: mend the matcher of the test", attack };
    counted.push({ attack, cost: steps / text.length });
  }
  const costliest = counted.sort((a, b) => b.cost - a.cost).slice(0, FINALISTS);
  for (const [rank, { attack }] of costliest.entries()) {
    let before: number | undefined;
    for (const length of rank === 0 ? LONG : SHORT.slice(0, 2)) {
      const { steps } = matcher.count(textOf(attack, length), MOST_STEPS * length);
      if (steps === undefined) return { what: `takes more than ${MOST_STEPS} steps a character at ${length}`, attack };
      if (before !== undefined && steps > 3 * before)
        return { what: `takes ${steps} steps at ${length} characters, and ${before} at half of it`, attack };
      before = steps;
    }
  }
  return undefined;
}

function foundByEngine(source: string, flags: string, text: string): readonly (readonly [number, number])[] {
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  return [...text.matchAll(pattern)].map((found) => [found.index, found.index + found[0].length]);
}
