import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";

/** Each lost race is a record that somebody else wrote. This many in a row mean a writer that leaves no room. */
const MOST_RACES = 1000;

/** The longest wait for room after the first: on a slow storage, a thousand races would take minutes. */
const LONGEST_RACE_MS = 5_000;

/**
 * So many may always be lost. A storage or a machine that stalls makes one race as long as a thousand, and a vacuum or a
 * lease that came in between once is nobody who leaves no room.
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

  /** Throws if there were too many, or if they took too long. */
  lost(): void {
    this.#lost++;
    const now = performance.now();
    this.#end ??= now + LONGEST_RACE_MS;
    if (this.#lost < this.#most && (this.#lost < FEWEST_RACES || now < this.#end)) return;
    const { name } = this.#context.log;
    const which = `${name}: ${this.#operation} of thread ${JSON.stringify(this.#threadId)}`;
    throw new StateError(
      "CONFLICT",
      `${which} came too late every time: somebody writes to the thread without a pause. Try again later; nothing was written`,
      { backend: name, operation: this.#operation, threadId: this.#threadId, written: "no" },
    );
  }
}
