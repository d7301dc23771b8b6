import { performance } from "node:perf_hooks";

/** How long calls that never really wait (those of SQLite and memory) may keep timers and sockets from their turn. */
const LONGEST_MS = 10;

let turnBegan: number | undefined;

/**
 * What to wait for so that the event loop turns, when the present turn has lasted
 * too long. A storage that answers at once makes a loop of awaits one long turn,
 * in which not even a timer fires; asked before every call to it, no loop can do that.
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
