import type { CheckpointContext } from "../../checkpoint/context.ts";
import { everyThread } from "../../checkpoint/find/finding.ts";
import type { LogEntry, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";

/** Every thread of a graph. One that cannot be read, and so may be a graph's, is noted. */
export async function* graphThreadsIn(
  context: CheckpointContext,
  warnings: Warnings = new Warnings(),
): AsyncGenerator<string> {
  for await (const { threadId, head } of everyThread(context, "listThreads", "", warnings)) {
    if (isGraph(head, threadId, warnings)) yield threadId;
  }
}

/** A damaged, sealed or newer header must not affect other threads: it is noted, and reading the thread itself reports it. */
export function isGraph(entry: LogEntry, threadId: string, warnings: Warnings): boolean {
  try {
    return openHeader(entry).thread?.kind === "graph";
  } catch (error) {
    warnings.note(error, threadId);
    return false;
  }
}

/** Refuses an agent's thread. One that is not there passes. */
export async function assertGraphThread(
  context: CheckpointContext,
  operation: string,
  threadId: string,
): Promise<ThreadTail | undefined> {
  const tail = await context.call({ operation, threadId }, (log) => log.tail(threadId));
  if (tail === undefined || openHeader(tail.entry).thread?.kind === "graph") return tail;
  throw agentsThread();
}

export const agentsThread = (): StateError =>
  new StateError(
    "INVALID_ARGUMENT",
    "the thread belongs to an agent and not to a graph; give the graph a thread id of its own, or use a Checkpointer",
  );
