/**
 * How many turns of the event loop read what has arrived. An answer needs more than one where a client reads it in
 * parts, or decrypts it.
 */
const TURNS = 3;

/** A timer that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Calls `onLate` after `ms`, unless the returned function is called first. A
 * process that was held up past that time finds its timer due and the answer in
 * its socket at once, and timers fire first. What has arrived is therefore read
 * before anything is given up.
 */
export function lateAfter(ms: number, onLate: () => void): () => void {
  let turn: NodeJS.Immediate | undefined;
  const read = (turns: number): void => {
    turn = setImmediate(turns === 0 ? onLate : () => read(turns - 1));
  };
  const timer = setTimeout(() => read(TURNS - 1), Math.min(ms, LONGEST_TIMER_MS));
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}
