import { Recent } from "../../internal/recent.ts";
import type { Position } from "./position.ts";

/** The newest checkpoint of a thread, as this process last loaded or saved it. */
export interface WarmThread {
  readonly position: Position;
  /** The schema version of `position.stored`, which a load has yet to migrate. */
  readonly storedSchema: number;
}

/** For the bookkeeping of a thread, whatever its state weighs. */
const BYTES_PER_THREAD = 1024;

/**
 * Keeps the states of recent threads in memory, so that loading one again reads
 * only what is newer. An entry is a starting point and never an answer: every
 * load asks the storage where the thread ends, and whether its history was
 * edited. Bounded by the bytes that the states take in the storage.
 */
export class WarmThreads {
  readonly #threads: Recent<WarmThread>;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#threads = new Recent(capacity);
    this.#capacity = capacity;
  }

  get(threadId: string): WarmThread | undefined {
    return this.#threads.get(threadId);
  }

  /** Byte arrays cannot be frozen, so a state with one is never shared between two loads. */
  keep(threadId: string, thread: WarmThread): void {
    const { chain, bytes } = thread.position;
    const weight = chain.bytes + BYTES_PER_THREAD;
    if (bytes.leaves.length > 0 || weight > this.#capacity) this.#threads.delete(threadId);
    else this.#threads.set(threadId, thread, weight);
  }

  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }
}
