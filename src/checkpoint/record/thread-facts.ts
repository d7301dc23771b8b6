import { StateError } from "../../errors.ts";
import type { LogEntry } from "../log/thread-log.ts";
import { openHeader, type RecordHeader, type ThreadFacts } from "./record.ts";

/**
 * A thread belongs to an agent or to a graph, from its first record on. Both
 * kinds share a storage, and a request for one kind is never answered with the
 * other.
 */
export const isGraphs = (thread: ThreadFacts | undefined): boolean => thread?.kind === "graph";

/** Refuses a graph's thread where an agent's is expected. */
export function assertAgents(entry: LogEntry, header: RecordHeader = openHeader(entry)): void {
  if (isGraphs(header.thread)) throw graphsThread();
}

export const graphsThread = (): StateError =>
  new StateError(
    "INVALID_ARGUMENT",
    "the thread belongs to a graph and not to an agent; use a saver (saverOf(checkpointer)) for it, or give the agent a thread id of its own",
  );
