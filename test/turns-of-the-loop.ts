/**
 * Lets the event loop turn so often that everything has happened which waits neither for a timer nor for another process. A
 * pause in milliseconds says nothing of that: a busy machine can spend all of it elsewhere.
 */
export async function turnsPass(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
