import { placeOfTail } from "../log/append-rules.ts";
import type { KnownPlace, LogEntry } from "../log/thread-log.ts";
import { openHeader, type ThreadFacts } from "../record/record.ts";
import type { Position } from "./position.ts";

/**
 * What a writer believes to be the newest checkpoint, and the tail it builds on.
 * Without one, the thread must not exist.
 */
export interface Expectation {
  readonly generation: string;
  readonly tail: KnownPlace;
  /** 0 if there is no checkpoint yet. */
  readonly head: number;
  /** The head's write; `undefined` where there is no checkpoint, or where the tail alone was read and is not the head. */
  readonly headWriteId: string | undefined;
  readonly headId: string | null;
  readonly thread: ThreadFacts | undefined;
}

export const expectationOf = (position: Position): Expectation => ({
  generation: position.generation,
  tail: position.tail,
  head: position.seq,
  headWriteId: position.writeId,
  headId: position.checkpointId,
  thread: position.thread,
});

export const expectationAt = (generation: string, tail: LogEntry, head: LogEntry | undefined): Expectation => ({
  generation,
  tail: placeOfTail({ generation, entry: tail }),
  head: tail.head,
  headWriteId: head?.writeId,
  headId: head?.checkpointId ?? null,
  thread: openHeader(tail).thread,
});

/** The checkpoint that a delta may build on: the head itself. */
export function buildableOn(position: Position | undefined, expected: Expectation | undefined): Position | undefined {
  if (position === undefined || expected === undefined) return undefined;
  const isHead = position.seq === expected.head && position.writeId === expected.headWriteId;
  return isHead && position.generation === expected.generation ? position : undefined;
}
