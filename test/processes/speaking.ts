import { once } from "node:events";
import { writeSync } from "node:fs";

/** One line to the parent, in the pipe when this returns: a kill right after it does not take it back. */
export function say(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

/** Waits for the parent's word. */
export async function listen(): Promise<string> {
  const [message] = (await once(process, "message")) as [string];
  return message;
}
