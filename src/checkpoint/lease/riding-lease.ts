import { assertOwner } from "../../driver/ids.ts";
import { newId } from "../../driver/new-id.ts";
import type { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { CheckpointContext } from "../context.ts";
import { LONGEST_TTL_MS, placeOfTail, wasAppended } from "../log/append-rules.ts";
import type { AppendRequest } from "../log/thread-log.ts";
import { writtenFacts } from "../people/holding-off.ts";
import { markRecord, openHeader, type ThreadFacts } from "../record/record.ts";
import { LostRaces } from "../thread/lost-races.ts";
import { assertNotMoved } from "../thread/moved-threads.ts";
import { isStillHead, type Position, positionOf, rememberPosition } from "../thread/position.ts";
import { liveLeases } from "./lease-holder.ts";
import {
  type KnownThread,
  type Lease,
  leaseAfterWrite,
  leaseConflict,
  leasedTo,
  leaseFault,
  leaseIn,
  timeLeft,
} from "./lease-rules.ts";

/**
 * A lease without calls of its own: the first save of a run takes it, each later
 * save renews it, the last one releases it. It writes a mark only when there is
 * nothing to save: to take over what another run left behind, as a sign of life
 * during a long call, and at the end of a run that changed nothing more. One run
 * at a time uses it, with one write after another.
 */
export class RidingLease {
  readonly id: string = newId();
  readonly owner: string;
  readonly ttlMs: number;
  readonly #context: CheckpointContext;
  readonly #threadId: string;
  readonly #never = new AbortController();
  #epoch = 0;
  #isHeld = false;
  /** The write of its last mark, which the next mark replaces. */
  #mark: string | undefined;
  #ended: () => void = () => undefined;

  constructor(
    context: CheckpointContext,
    threadId: string,
    options: { readonly owner?: string | undefined; readonly ttlMs: number },
  ) {
    this.#context = context;
    this.#threadId = threadId;
    this.owner = options.owner ?? context.holder.name;
    assertOwner(this.owner);
    this.ttlMs = Math.min(options.ttlMs, LONGEST_TTL_MS);
    liveLeases().set(this.id, new Promise((resolve) => (this.#ended = resolve)));
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether a write with it was ever made. */
  get wasHeld(): boolean {
    return this.#epoch > 0;
  }

  /** For one save, which takes the lease, renews it or, as the last, releases it. */
  terms(ends: boolean): Lease {
    const { clock, now, holder } = this.#context;
    return {
      id: this.id,
      threadId: this.#threadId,
      owner: this.owner,
      epoch: this.#epoch,
      ttlMs: this.ttlMs,
      signal: this.#never.signal,
      clockOffsetMs: clock.now() - now(),
      holder: holder.mark,
      taking: !this.#isHeld,
      ends,
    };
  }

  /** Call this after every save that was made with it. */
  saved(state: AgentState): void {
    this.#note(positionOf(this.#context, state, this.#threadId)?.thread);
  }

  #note(facts: ThreadFacts | undefined): void {
    const lease = facts?.lease;
    if (lease?.id !== this.id) return;
    this.#isHeld = lease.expiresAt > 0;
    this.#epoch = lease.epoch;
  }

  /**
   * Writes the lease without a checkpoint. `state` is the newest stored one.
   * Throws `CONFLICT` if another holds the thread.
   */
  async mark(state: AgentState, ends: boolean): Promise<void> {
    const [context, threadId] = [this.#context, this.#threadId];
    const position = positionOf(context, state, threadId);
    if (position === undefined) return;
    let tail: Tail = { ...position, head: position.seq };
    for (const races = new LostRaces(context, "lease", threadId); ; races.lost()) {
      assertNotMoved(context, threadId, tail.thread);
      const terms = this.terms(ends);
      const fault = await leaseFault(context, tail, terms);
      if (fault !== undefined) throw leaseConflict(context, threadId, fault);
      const lease = leaseAfterWrite(context, tail, terms);
      const facts: ThreadFacts = { ...writtenFacts(tail.thread), ...(lease !== undefined && { lease }) };
      const request = this.#request(tail, facts);
      const outcome = await context.call({ operation: "lease", threadId }, (log) => log.append(threadId, request));
      if (wasAppended(outcome, request)) {
        const { generation } = tail;
        this.#mark = request.record.writeId;
        this.#note(facts);
        const moved = placeOfTail({ generation, entry: request.record });
        rememberPosition(context, state, threadId, { ...position, tail: moved, thread: facts });
        return;
      }
      const { tail: found, generation } = outcome;
      const isSame = found !== undefined && generation === tail.generation;
      if (!isSame || !(await isStillHead(context, threadId, position, found))) {
        throw leaseConflict(context, threadId, "the thread has moved on");
      }
      const { base, head } = found;
      const place = placeOfTail({ generation, entry: found });
      tail = { generation, tail: place, base, head, thread: openHeader(found).thread };
    }
  }

  #request({ tail: expected, base, head }: Tail, facts: ThreadFacts): AppendRequest {
    const { seq, writeId } = expected;
    const record = markRecord("lease", { seq: seq + 1, writeId: newId(), base, head }, this.#context.now(), facts);
    return { expected, record, ...(writeId === this.#mark && { drop: [seq] }) };
  }

  /** The run is over, even if the lease could not be released: nobody in this process has to wait for it any more. */
  end(): void {
    liveLeases().delete(this.id);
    this.#ended();
  }
}

interface Tail extends Pick<Position, "generation" | "tail" | "base" | "thread"> {
  readonly head: number;
}

/** Another holder of a thread. */
export interface CurrentHolder {
  readonly leaseId: string;
  readonly owner: string;
  readonly until: Date;
  /** For how long, by the storage's clock, unless it is renewed. */
  readonly leftMs: number;
  /** Resolves when its run has ended, if that run is in this process. */
  readonly ended: Promise<void> | undefined;
  readonly conflict: StateError;
}

/** Who held the thread when this state was loaded. */
export const holderAt = (
  context: CheckpointContext,
  state: AgentState | undefined,
  threadId: string,
): Promise<CurrentHolder | undefined> =>
  currentHolder(context, threadId, state && positionOf(context, state, threadId));

/** Who holds the thread now. */
export async function holderNow(context: CheckpointContext, threadId: string): Promise<CurrentHolder | undefined> {
  const tail = await context.call({ operation: "lease", threadId }, (log) => log.tail(threadId));
  const known = tail && { generation: tail.generation, thread: openHeader(tail.entry).thread };
  return currentHolder(context, threadId, known);
}

async function currentHolder(
  context: CheckpointContext,
  threadId: string,
  known: KnownThread | undefined,
): Promise<CurrentHolder | undefined> {
  const lease = leaseIn(known);
  if (lease === undefined) return undefined;
  const leftMs = await timeLeft(context, lease);
  if (leftMs <= 0) return undefined;
  return {
    leaseId: lease.id,
    owner: lease.owner,
    until: new Date(lease.expiresAt),
    leftMs,
    ended: liveLeases().get(lease.id),
    conflict: leaseConflict(context, threadId, leasedTo(lease)),
  };
}
