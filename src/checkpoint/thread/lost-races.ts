import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";

/** Each lost race is a record that another writer wrote. This many in a row mean a writer that leaves no room. */
const MOST_RACES = 1000;

/** The longest wait for room after the first: on a slow storage, a thousand races would take minutes. */
const LONGEST_RACE_MS = 5_000;

/**
 * So many may always be lost. A storage or a machine that stalls makes one race as long as a thousand, and a vacuum or a
 * lease that came in between once leaves room.
 */
const FEWEST_RACES = 10;

/** Counts the races that one call lost against other writers, so that no loop runs for ever. */
export class LostRaces {
  readonly #context: CheckpointContext;
  readonly #operation: string;
  readonly #threadId: string;
  readonly #most: number;
  #lost = 0;
  #end: number | undefined;

  constructor(context: CheckpointContext, operation: string, threadId: string, most: number = MOST_RACES) {
    this.#context = context;
    this.#operation = operation;
    this.#threadId = threadId;
    this.#most = most;
  }

  /** Counts one more; throws if there were too many, or if they took too long. */
  lost(): void {
    if (this.isOver()) throw this.error();
  }

  /** Counts one more, and says whether it was one too many. */
  isOver(): boolean {
    this.#lost++;
    const now = performance.now();
    this.#end ??= now + LONGEST_RACE_MS;
    return this.#lost >= this.#most || (this.#lost >= FEWEST_RACES && now >= this.#end);
  }

  error(): StateError {
    const { name } = this.#context.log;
    const which = `${name}: ${this.#operation} of thread ${JSON.stringify(this.#threadId)}`;
    return new StateError(
      "CONFLICT",
      `${which} lost ${this.#lost} compare-and-set attempts to other writers. Try again later; nothing was written`,
      { backend: name, operation: this.#operation, threadId: this.#threadId, written: "no" },
    );
  }
}
