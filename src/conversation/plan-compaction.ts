import type { Message } from "../state/message.ts";
import { withoutResult } from "./cleared-results.ts";
import { cutPoints, lastAnswer } from "./cut-points.ts";

/** What a plan needs to know, all in the same unit: the model's tokens, or messages. */
export interface Measures {
  /** The tokens of one message as it is shown. */
  readonly of: (message: Message) => number;
  /** The tokens of what is sent besides the conversation. */
  readonly beside: number;
  /** The tokens of the block that stands for the messages covered now. */
  readonly block: number;
  /** The most that will stand for more of them. */
  readonly nextBlock: () => number;
  /** Whether leaving out the results of tools makes anything smaller. */
  readonly clears: boolean;
  /** From here on something must go … */
  readonly high: number;
  /** … until it is no more than this. */
  readonly low: number;
}

/** Where the shown part begins, and before which message long results are left out. */
export interface View {
  readonly covers: number;
  readonly clearedBefore: number;
}

export interface Plan extends View {
  readonly before: number;
  readonly after: number;
}

/** A smaller step would be followed by the next one soon, and each makes a provider read the prompt anew. */
const LEAST_GAIN = 0.1;

/**
 * What to leave out of the prompt, or `undefined` while it fits or where nothing
 * can be gained. First the long results of tools that the model has used
 * already; then whole turns from the beginning; and of one huge turn its first steps.
 */
export function planCompaction(messages: readonly Message[], view: View, measures: Measures): Plan | undefined {
  const { beside, block, high, low } = measures;
  const before = beside + block + sizeFrom(messages, view, measures);
  if (before < high) return undefined;
  const clearedBefore = measures.clears ? clearingPoint(messages, view, measures) : 0;
  const results = { covers: view.covers, clearedBefore };
  const withoutResults = beside + block + sizeFrom(messages, results, measures);
  if (withoutResults <= low) return { ...results, before, after: withoutResults };
  const around = beside + measures.nextBlock();
  const covers = cutWithin(messages, results, measures, around);
  if (covers === undefined) {
    return before - withoutResults >= high * LEAST_GAIN ? { ...results, before, after: withoutResults } : undefined;
  }
  const after = around + sizeFrom(messages, { covers, clearedBefore }, measures);
  return before - after >= high * LEAST_GAIN ? { covers, clearedBefore, before, after } : undefined;
}

/** What is shown of the conversation. A turn whose beginning is covered keeps the user's message that began it. */
export function shownMessages(messages: readonly Message[], { covers, clearedBefore }: View): readonly Message[] {
  if (covers === 0 && clearedBefore === 0) return messages;
  const shown = messages.slice(0, covers).filter(({ role }) => role === "system");
  const first = messages[covers];
  if (covers > 0 && first !== undefined && first.role !== "user") {
    const asked = messages.slice(0, covers).findLast(({ role }) => role === "user");
    if (asked !== undefined) shown.push(asked);
  }
  const seen = Math.min(clearedBefore, lastAnswer(messages));
  for (let index = covers; index < messages.length; index++) {
    const message = messages[index];
    if (message !== undefined) shown.push(index < seen ? withoutResult(message) : message);
  }
  return shown;
}

function sizeFrom(messages: readonly Message[], view: View, { of }: Measures): number {
  let size = 0;
  for (const message of shownMessages(messages, view)) size += of(message);
  return size;
}

/** Results are kept in the newest part, half of what is to remain; and always those that the model has not seen. */
function clearingPoint(messages: readonly Message[], view: View, { of, low, beside }: Measures): number {
  let room = (low - beside) / 2;
  let point = messages.length;
  while (point > view.clearedBefore) {
    const message = messages[point - 1];
    room -= message === undefined ? 0 : of(message);
    if (room < 0) break;
    point--;
  }
  return Math.max(view.clearedBefore, Math.min(point, Math.max(0, lastAnswer(messages))));
}

/** The first cut that leaves no more than there is room for; else the last that there is. */
function cutWithin(messages: readonly Message[], view: View, measures: Measures, around: number): number | undefined {
  const { high, low } = measures;
  const { turns, steps } = cutPoints(messages);
  const sizeAt = (covers: number): number => around + sizeFrom(messages, { ...view, covers }, measures);
  const later = turns.filter((turn) => turn > view.covers);
  const turn = firstFitting(later, (covers) => sizeAt(covers) <= low) ?? later.at(-1);
  // A turn that does not fit is kept whole while it stays well below the point where the next compaction begins.
  if (turn !== undefined && sizeAt(turn) <= (high + low) / 2) return turn;
  const within = steps.filter((step) => step > Math.max(view.covers, turn ?? 0));
  return firstFitting(within, (covers) => sizeAt(covers) <= low) ?? within.at(-1) ?? turn;
}

/** What is left gets smaller with every later cut, so the first that fits is found by halves. */
function firstFitting(cuts: readonly number[], fits: (cut: number) => boolean): number | undefined {
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(cuts[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return cuts[low];
}
