import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";
import type { LeaseState, ThreadFacts } from "./record.ts";

/**
 * The right to write one thread for a while. The lease lies in the log itself:
 * taking it, renewing it and every write move the tail, so a holder that was
 * stopped past its time and wakes up builds on a tail that is gone. The store
 * refuses it; no clock has to be trusted for that, only for how soon another may take over.
 */
export interface Lease {
  readonly id: string;
  readonly threadId: string;
  readonly owner: string;
  /** The fencing token: grows with every new holder. */
  readonly epoch: number;
  readonly ttlMs: number;
  /** Aborts when the lease was lost. */
  readonly signal: AbortSignal;
  /** How far the storage's clock is ahead of this machine's. */
  readonly clockOffsetMs: number;
}

/** A thread as a writer knows it: which one of its name, and what its tail says. */
export interface KnownThread {
  readonly generation: string;
  readonly thread: ThreadFacts | undefined;
}

/**
 * The lease that lies in a thread. One that was taken in another thread came
 * here with a copy of its records: it holds nobody here, only its epoch counts on.
 */
export function leaseIn(known: KnownThread | undefined): LeaseState | undefined {
  const lease = known?.thread?.lease;
  if (lease?.generation === undefined || lease.generation === known?.generation) return lease;
  return { ...lease, expiresAt: 0 };
}

/** Why a write must not go ahead, or `undefined`. `held` is the lease the writer has, if any. */
export async function leaseFault(
  context: CheckpointContext,
  known: KnownThread | undefined,
  held: Lease | undefined,
): Promise<string | undefined> {
  const moved = known?.thread?.moved;
  if (moved !== undefined) return `it was moved to ${moved.to}; load and save it there`;
  const current = leaseIn(known);
  if (held !== undefined) {
    if (isHeldBy(current, held)) return undefined;
    return `the lease of ${JSON.stringify(held.owner)} (epoch ${held.epoch}) is no longer held`;
  }
  if (current === undefined || current.expiresAt <= 0) return undefined;
  if (current.expiresAt <= (await context.storageNow())) return undefined;
  return leasedTo(current);
}

export const leasedTo = ({ owner, expiresAt }: LeaseState): string =>
  `it is leased to ${JSON.stringify(owner)} until ${new Date(expiresAt).toISOString()}`;

/** What a write leaves in the log: the holder's own writes renew the lease, others only keep its epoch in mind. */
export function leaseAfterWrite(
  context: CheckpointContext,
  known: KnownThread | undefined,
  held: Lease | undefined,
): LeaseState | undefined {
  if (held !== undefined && known !== undefined) return leaseState(context, held, known.generation);
  const current = leaseIn(known);
  return current === undefined ? undefined : { ...current, expiresAt: 0 };
}

export const isHeldBy = (current: LeaseState | undefined, lease: Lease): boolean =>
  current?.id === lease.id && current.expiresAt > 0;

export const leaseState = (
  context: CheckpointContext,
  { id, owner, epoch, ttlMs, clockOffsetMs }: Lease,
  generation: string,
): LeaseState => ({
  id,
  owner,
  epoch,
  expiresAt: context.now() + clockOffsetMs + ttlMs,
  generation,
});

export const leaseConflict = (context: CheckpointContext, threadId: string, fault: string): StateError =>
  new StateError("CONFLICT", `${context.log.name}: thread ${JSON.stringify(threadId)} cannot be written: ${fault}`, {
    backend: context.log.name,
    threadId,
    written: "no",
  });
