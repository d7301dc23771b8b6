import type { CheckpointContext } from "../context.ts";
import type { LogEntry } from "./thread-log.ts";

/** Every checkpoint's entry, newest first. */
export async function* entries(
  context: CheckpointContext,
  threadId: string,
): AsyncGenerator<LogEntry, void, undefined> {
  const limit = 500;
  let before: number | undefined;
  for (;;) {
    const options = before === undefined ? { limit } : { limit, before };
    const found = await context.call({ operation: "list", threadId }, (log) => log.list(threadId, options));
    yield* found;
    before = found.at(-1)?.seq;
    if (found.length < limit || before === undefined) return;
  }
}
