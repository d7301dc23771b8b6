import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { isGone } from "./classify.ts";

/** Returned if another process changed the thread meanwhile, so that it must be read again. */
export const AGAIN: unique symbol = Symbol("holdfast.file.again");

const MOST_ATTEMPTS = 300;

/**
 * Repeats `attempt` until it is not disturbed. A file that was just there and is
 * gone is such a disturbance, never an answer: the next attempt finds out whether
 * the thread moved on, was deleted, or the disk went away.
 */
export async function untilUndisturbed<T>(attempt: () => Promise<T | typeof AGAIN>): Promise<T> {
  let cause: unknown;
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    try {
      const result = await attempt();
      if (result !== AGAIN) return result;
    } catch (error) {
      if (!isGone(error)) throw error;
      cause = error;
    }
    // A random pause separates two processes that keep disturbing each other.
    if (attempts > 2) await sleep(Math.random() * Math.min(attempts, 25));
  }
  const message = `the thread did not hold still in ${MOST_ATTEMPTS} attempts: other processes change it all the time`;
  throw new StateError("UNAVAILABLE", message, { cause });
}
