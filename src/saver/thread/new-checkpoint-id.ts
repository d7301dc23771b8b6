import { newId } from "../../driver/ids.ts";

let last = 0;

/**
 * An id that is greater, as text, than every one this process made before: the
 * time, a count within the millisecond, and chance against other processes.
 */
export function newCheckpointId(now: number = Date.now()): string {
  last = Math.max(now * 4096, last + 1);
  return `${last.toString(16).padStart(14, "0")}-${newId()}`;
}
