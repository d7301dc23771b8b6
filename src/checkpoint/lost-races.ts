import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";

/** Each lost race is a record that somebody else wrote. This many in a row mean a writer that leaves no room. */
const MOST_RACES = 1000;

/** The longest wait for room: on a slow storage, a thousand races would take minutes. */
const LONGEST_RACE_MS = 5_000;

/** Fewer are chance: one race that is lost after the storage was away for a while says nothing about the next. */
const FEWEST_RACES = 5;

/** Counts the races that one call lost against other writers, so that no loop runs for ever. */
export class LostRaces {
  readonly #context: CheckpointContext;
  readonly #operation: string;
  readonly #threadId: string;
  readonly #end = performance.now() + LONGEST_RACE_MS;
  readonly #most: number;
  #lost = 0;

  constructor(context: CheckpointContext, operation: string, threadId: string, most: number = MOST_RACES) {
    this.#context = context;
    this.#operation = operation;
    this.#threadId = threadId;
    this.#most = most;
  }

  /** Throws if there were too many, or if they took too long. */
  lost(): void {
    this.#lost++;
    const isLate = this.#lost >= FEWEST_RACES && performance.now() >= this.#end;
    if (this.#lost < this.#most && !isLate) return;
    const { name } = this.#context.log;
    const which = `${name}: ${this.#operation} of thread ${JSON.stringify(this.#threadId)}`;
    throw new StateError(
      "CONFLICT",
      `${which} came too late every time: somebody writes to the thread without a pause. Try again later; nothing was written`,
      { backend: name, operation: this.#operation, threadId: this.#threadId, written: "no" },
    );
  }
}
