import { countText, plural, sizeText } from "../output/wording.ts";

/** How far a walk over threads is; `total` once they are counted. */
export interface WalkState {
  readonly done: number;
  readonly total: number | undefined;
  readonly bytes: number;
  readonly elapsedMs: number;
}

const BAR = 16;

/** One line that says what is done, how fast, and how long the rest will take where that is known. */
export function progressLine(verb: string, { done, total, bytes, elapsedMs }: WalkState): string {
  const seconds = elapsedMs / 1000;
  const speed = seconds < 1 || bytes === 0 ? [] : [`${sizeText(Math.round(bytes / seconds))}/s`];
  // What was saved meanwhile may be more than was counted.
  if (total === undefined || total < done) return [verb, plural(done, "thread"), sizeText(bytes), ...speed].join("  ");
  const filled = total === 0 ? BAR : Math.floor((done / total) * BAR);
  const bar = `${"━".repeat(filled)}${"─".repeat(BAR - filled)}`;
  const left = done === 0 || seconds < 5 ? [] : [`${timeText((seconds / done) * (total - done))} left`];
  const counted = `${countText(done)} / ${countText(total)} threads`;
  return [verb, bar, counted, sizeText(bytes), ...speed, ...left].join("  ");
}

function timeText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 90 * 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** Counts beside the work. A count that fails is no count: whatever is wrong, the work says it. */
export class Counting {
  readonly #ended: Promise<void>;
  #total: number | undefined;
  #isOver = false;

  constructor(items: AsyncIterable<unknown>) {
    this.#ended = this.#count(items).catch(() => undefined);
  }

  /** Known when everything is counted. */
  get total(): number | undefined {
    return this.#total;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #count(items: AsyncIterable<unknown>): Promise<void> {
    let count = 0;
    for await (const _ of items) {
      if (this.#isOver) return;
      count++;
    }
    this.#total = count;
  }
}
