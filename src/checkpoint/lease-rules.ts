import { StateError } from "../errors.ts";
import type { CheckpointContext } from "./context.ts";
import type { LeaseState } from "./record.ts";

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

/** Why a write must not go ahead, or `undefined`. `held` is the lease the writer has, if any. */
export async function leaseFault(
  context: CheckpointContext,
  current: LeaseState | undefined,
  held: Lease | undefined,
): Promise<string | undefined> {
  if (held !== undefined) {
    if (isHeldBy(current, held)) return undefined;
    return `the lease of ${JSON.stringify(held.owner)} (epoch ${held.epoch}) is no longer held`;
  }
  if (current === undefined || current.expiresAt <= 0) return undefined;
  if (current.expiresAt <= (await context.storageNow())) return undefined;
  return `it is leased to ${JSON.stringify(current.owner)} until ${new Date(current.expiresAt).toISOString()}`;
}

/** What a write leaves in the log: the holder's own writes renew the lease, others only keep its epoch in mind. */
export function leaseAfterWrite(
  context: CheckpointContext,
  current: LeaseState | undefined,
  held: Lease | undefined,
): LeaseState | undefined {
  if (held !== undefined) return leaseState(context, held);
  return current === undefined ? undefined : { ...current, expiresAt: 0 };
}

export const isHeldBy = (current: LeaseState | undefined, lease: Lease): boolean =>
  current?.id === lease.id && current.expiresAt > 0;

export const leaseState = (
  context: CheckpointContext,
  { id, owner, epoch, ttlMs, clockOffsetMs }: Lease,
): LeaseState => ({
  id,
  owner,
  epoch,
  expiresAt: context.now() + clockOffsetMs + ttlMs,
});

export const leaseConflict = (context: CheckpointContext, threadId: string, fault: string): StateError =>
  new StateError("CONFLICT", `${context.log.name}: thread ${JSON.stringify(threadId)} cannot be written: ${fault}`, {
    backend: context.log.name,
    threadId,
    written: "no",
  });
