import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import { ERASING, isHeldOff } from "../people/erasure-mark.ts";
import type { LeaseState, ThreadFacts } from "../record/record.ts";
import type { Tail } from "../thread/thread.ts";

/**
 * The right to write one thread for a while. The lease is part of the log: taking
 * it, renewing it and every write move the tail. A holder that was stopped past
 * its time and wakes up builds on an old tail, and the store refuses it. No clock
 * has to be trusted for that; clocks only decide how soon another may take over.
 */
export interface Lease {
  readonly threadId: string;
  readonly owner: string;
  /**
   * Names this holding, and no other, also after a storage was put back to an older copy. It says nothing of order: a
   * system that is to refuse late callers asks `leaseOf(threadId)` whether the token is still the one that holds.
   */
  readonly token: string;
  /** How long after the holder's last write another may take over. */
  readonly ttlMs: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
}

/** What a write says of the lease that it is made with. */
export interface LeaseTerms {
  readonly id: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** How far the storage's clock is ahead of this machine's. */
  readonly clockOffsetMs: number;
  /** For a lease that rides on saves: the process that holds it. */
  readonly holder?: string;
  /** The write acquires it, if it is free then. */
  readonly isTaking?: boolean;
  /** The write releases it. */
  readonly isLast?: boolean;
}

const terms = new WeakMap<Lease, LeaseTerms>();

export function leaseWith(lease: Omit<Lease, "token">, its: LeaseTerms): Lease {
  const made = { ...lease, token: its.id };
  terms.set(made, its);
  return made;
}

export function termsOf(lease: Lease): LeaseTerms {
  const known = terms.get(lease);
  if (known !== undefined) return known;
  throw new StateError("CONFLICT", "the lease is none that withLease() handed to its work; nothing was written", {
    written: "no",
  });
}

type KnownThread = Pick<Tail, "generation" | "thread">;

/** The lease of a thread. One that came here with a copy of another thread's records binds no writer of the copy. */
export function leaseIn(known: KnownThread | undefined): LeaseState | undefined {
  const lease = known?.thread?.lease;
  return lease?.generation === undefined || lease.generation === known?.generation ? lease : undefined;
}

/** Whether there is anything that `leaseFault` could find. */
export function mayBeLeased(known: KnownThread | undefined, held: Lease | undefined): boolean {
  if (held !== undefined) return true;
  const facts = known?.thread;
  return facts !== undefined && (facts.lease !== undefined || facts.moved !== undefined || facts.erasing !== undefined);
}

/** Two live copies of a thread would run the same effects twice. */
export const movedFault = (facts: ThreadFacts | undefined): string | undefined =>
  facts?.moved && `it was moved to ${facts.moved.to} at ${new Date(facts.moved.at).toISOString()}; open it there`;

/** Why a write must not go ahead, or `undefined`. `held` is the lease that the writer has, or takes with this write. */
export async function leaseFault(
  context: CheckpointContext,
  known: KnownThread | undefined,
  held: LeaseTerms | undefined,
): Promise<string | undefined> {
  const moved = movedFault(known?.thread);
  if (moved !== undefined) return moved;
  if (await isHeldOff(context, known?.thread?.erasing)) return ERASING;
  const current = leaseIn(known);
  if (held !== undefined && current?.id === held.id) return undefined;
  if (held !== undefined && held.isTaking !== true)
    return `the lease of ${JSON.stringify(held.owner)} is no longer held`;
  if (current === undefined || (await timeLeft(context, current)) <= 0) return undefined;
  return leasedTo(current);
}

/** How long a lease still excludes others, by the storage's clock. It is 0 for a holder known to be dead. */
export const timeLeft = async (context: CheckpointContext, current: LeaseState): Promise<number> =>
  ownedByDead(context, current) ? 0 : current.expiresAt - (await context.storageNow());

/** Dead on the same machine, or finished in this process. */
export const ownedByDead = ({ holder: self }: CheckpointContext, { id, holder }: LeaseState): boolean =>
  holder !== undefined && self.isGone(holder, id);

export function leasedTo({ owner, expiresAt, holder }: LeaseState): string {
  const until = new Date(expiresAt).toISOString();
  if (holder === undefined) return `it is leased to ${JSON.stringify(owner)} until ${until}`;
  return `a run of an agent holds it (${owner}, until ${until} unless the run goes on); wait for the run to end`;
}

/** What a write leaves in the log: the holder's own writes renew the lease, and all others are made where it is over. */
export function leaseAfterWrite(
  context: CheckpointContext,
  generation: string,
  held: LeaseTerms | undefined,
): LeaseState | undefined {
  if (held === undefined || held.isLast === true) return undefined;
  const { id, owner, ttlMs, clockOffsetMs, holder } = held;
  const expiresAt = context.now() + clockOffsetMs + ttlMs;
  return { id, owner, expiresAt, generation, ...(holder !== undefined && { holder }) };
}

/** The facts of a thread, with this lease or none. */
export function factsWith(facts: ThreadFacts | undefined, lease: LeaseState | undefined): ThreadFacts | undefined {
  const { lease: _, ...others } = facts ?? {};
  const all = lease === undefined ? others : { ...others, lease };
  return Object.keys(all).length === 0 ? undefined : all;
}

export const leaseConflict = (context: CheckpointContext, threadId: string, fault: string): StateError =>
  new StateError("CONFLICT", `${context.log.name}: thread ${JSON.stringify(threadId)} cannot be written: ${fault}`, {
    backend: context.log.name,
    threadId,
    written: "no",
  });
