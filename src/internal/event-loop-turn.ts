/** Taken now: the fake timers of a test replace the global. `node:perf_hooks` would be loaded for it alone. */
const { performance } = globalThis;

/** How long calls that never really wait (SQLite, memory) may hold up timers and sockets. */
const LONGEST_MS = 10;

let turnBegan: number | undefined;

/**
 * Resolves after a turn of the event loop if the present turn has lasted too
 * long, otherwise at once. A storage that answers synchronously turns a loop of
 * awaits into one long turn in which no timer fires; awaiting this before each
 * call prevents that.
 */
export function endOfLongTurn(): Promise<void> | undefined {
  const now = performance.now();
  if (turnBegan === undefined) {
    turnBegan = now;
    setImmediate(() => {
      turnBegan = undefined;
    });
    return undefined;
  }
  if (now - turnBegan <= LONGEST_MS) return undefined;
  return new Promise<void>((resolve) => setImmediate(resolve));
}
