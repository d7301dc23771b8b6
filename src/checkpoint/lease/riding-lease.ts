import { assertOwner, newId } from "../../driver/ids.ts";
import type { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { CheckpointContext } from "../context.ts";
import { LONGEST_TTL_MS } from "../log/driver-rules.ts";
import { writtenFacts } from "../people/erasure-mark.ts";
import type { ThreadFacts } from "../record/record.ts";
import { isStillHead, positionOf, rememberPosition } from "../thread/position.ts";
import { planMark, type Tail, Thread, tailBehind } from "../thread/thread.ts";
import { liveLeases } from "./lease-holder.ts";
import {
  factsWith,
  type Lease,
  type LeaseTerms,
  leaseAfterWrite,
  leaseConflict,
  leasedTo,
  leaseFault,
  leaseIn,
  leaseWith,
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
  #isHeld = false;
  #wasHeld = false;
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
    return this.#wasHeld;
  }

  /** For one save, which takes the lease, renews it or, as the last, releases it. */
  terms(isLast: boolean): Lease {
    const { owner, ttlMs } = this;
    const lease = { threadId: this.#threadId, owner, ttlMs, signal: this.#never.signal };
    return leaseWith(lease, this.#terms(isLast));
  }

  #terms(isLast: boolean): LeaseTerms {
    const { clock, now, holder } = this.#context;
    const clockOffsetMs = clock.now() - now();
    const { id, owner, ttlMs } = this;
    return { id, owner, ttlMs, clockOffsetMs, holder: holder.mark, isTaking: !this.#isHeld, isLast };
  }

  /** Call this after every save that was made with it. */
  saved(state: AgentState): void {
    this.#note(positionOf(this.#context, state, this.#threadId)?.tail.thread);
  }

  #note(facts: ThreadFacts | undefined): void {
    this.#isHeld = facts?.lease?.id === this.id;
    this.#wasHeld = true;
  }

  /**
   * Writes the lease without a checkpoint. `state` is the newest stored one.
   * Throws `CONFLICT` if another holds the thread.
   */
  async mark(state: AgentState, isLast: boolean): Promise<void> {
    const context = this.#context;
    const thread = new Thread(context, this.#threadId, "lease");
    const position = positionOf(context, state, thread.id);
    if (position === undefined) return;
    const { generation } = position.tail;
    const written = await thread.append(position.tail, async (tail, isRetry) => {
      const isSame = tail?.generation === generation && (!isRetry || (await isStillHead(thread, position, tail)));
      if (!isSame) throw leaseConflict(context, thread.id, "the thread has moved on");
      const terms = this.#terms(isLast);
      const fault = await leaseFault(context, tail, terms);
      if (fault !== undefined) throw leaseConflict(context, thread.id, fault);
      const lease = leaseAfterWrite(context, generation, terms);
      return planMark(thread, "lease", tail, factsWith(writtenFacts(tail.thread), lease));
    });
    if (written === undefined) return;
    const tail = tailBehind(generation, written.request.record);
    this.#note(tail.thread);
    rememberPosition(context, state, thread.id, { ...position, tail });
  }

  /** The run is over, even if the lease could not be released: other runs in this process need not wait for it. */
  end(): void {
    liveLeases().delete(this.id);
    this.#ended();
  }
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
  currentHolder(context, threadId, state && positionOf(context, state, threadId)?.tail);

/** Who holds the thread now. */
export async function holderNow(context: CheckpointContext, threadId: string): Promise<CurrentHolder | undefined> {
  return currentHolder(context, threadId, await new Thread(context, threadId, "lease").tail());
}

async function currentHolder(
  context: CheckpointContext,
  threadId: string,
  tail: Tail | undefined,
): Promise<CurrentHolder | undefined> {
  const lease = leaseIn(tail);
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
