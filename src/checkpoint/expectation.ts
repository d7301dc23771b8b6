import type { Position } from "./position.ts";
import { openHeader, type ThreadFacts } from "./record.ts";
import type { LogEntry } from "./thread-log.ts";

/**
 * What a writer believes to be the newest checkpoint, and the tail it builds on.
 * Without one, the thread must not exist.
 */
export interface Expectation {
  readonly generation: string;
  readonly tail: number;
  /** 0 if there is no checkpoint yet. */
  readonly head: number;
  readonly headId: string | null;
  readonly thread: ThreadFacts | undefined;
}

export const expectationOf = (position: Position): Expectation => ({
  generation: position.generation,
  tail: position.tail,
  head: position.seq,
  headId: position.checkpointId,
  thread: position.thread,
});

export const expectationAt = (generation: string, tail: LogEntry, head: LogEntry | undefined): Expectation => ({
  generation,
  tail: tail.seq,
  head: tail.head,
  headId: head?.checkpointId ?? null,
  thread: openHeader(tail).thread,
});

/** The checkpoint that a delta may build on: the head itself. */
export function buildableOn(position: Position | undefined, expected: Expectation | undefined): Position | undefined {
  if (position === undefined || expected === undefined) return undefined;
  return position.generation === expected.generation && position.seq === expected.head ? position : undefined;
}
