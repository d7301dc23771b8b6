import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";
import { ERASING, isHeldOff } from "../people/holding-off.ts";
import type { LeaseState, ThreadFacts } from "../record/record.ts";

/**
 * The right to write one thread for a while. The lease is part of the log: taking
 * it, renewing it and every write move the tail. A holder that was stopped past
 * its time and wakes up builds on an old tail, and the store refuses it. No clock
 * has to be trusted for that; clocks only decide how soon another may take over.
 */
export interface Lease {
  readonly id: string;
  readonly threadId: string;
  readonly owner: string;
  /** The fencing token: grows with every new holder. */
  readonly epoch: number;
  readonly ttlMs: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  /** How far the storage's clock is ahead of this machine's. */
  readonly clockOffsetMs: number;
  /** For a lease that rides on saves: the process that holds it. */
  readonly holder?: string;
  /** The next write with it acquires it, if it is free then. */
  readonly taking?: boolean;
  /** The next write with it releases it. */
  readonly ends?: boolean;
}

/** A thread as a writer knows it: its generation, and what its tail says. */
export interface KnownThread {
  readonly generation: string;
  readonly thread: ThreadFacts | undefined;
}

/**
 * The lease of a thread. A lease that was taken in another thread came here with
 * a copy of its records: it binds nobody here, and only its epoch counts on.
 */
export function leaseIn(known: KnownThread | undefined): LeaseState | undefined {
  const lease = known?.thread?.lease;
  if (lease?.generation === undefined || lease.generation === known?.generation) return lease;
  return { ...lease, expiresAt: 0 };
}

/** Whether there is anything that `leaseFault` could find. */
export function mayBeLeased(known: KnownThread | undefined, held: Lease | undefined): boolean {
  const { lease, moved, erasing } = known?.thread ?? {};
  return held !== undefined || lease !== undefined || moved !== undefined || erasing !== undefined;
}

/** Why a write must not go ahead, or `undefined`. `held` is the lease that the writer has, or takes with this write. */
export async function leaseFault(
  context: CheckpointContext,
  known: KnownThread | undefined,
  held: Lease | undefined,
): Promise<string | undefined> {
  const moved = known?.thread?.moved;
  if (moved !== undefined) return `it was moved to ${moved.to}; load and save it there`;
  if (await isHeldOff(context, known?.thread?.erasing)) return ERASING;
  const current = leaseIn(known);
  if (held !== undefined && held.taking !== true) {
    if (isHeldBy(current, held)) return undefined;
    return `the lease of ${JSON.stringify(held.owner)} (epoch ${held.epoch}) is no longer held`;
  }
  if (held !== undefined && isHeldBy(current, held)) return undefined;
  if (current === undefined || (await timeLeft(context, current)) <= 0) return undefined;
  return leasedTo(current);
}

/** How long a lease still excludes others, by the storage's clock. A holder known to be dead excludes nobody. */
export async function timeLeft(context: CheckpointContext, current: LeaseState): Promise<number> {
  const { expiresAt } = current;
  if (expiresAt <= 0 || ownedByDead(context, current)) return 0;
  return expiresAt - (await context.storageNow());
}

/** Dead on the same machine, or finished in this process. */
export const ownedByDead = ({ holder: self }: CheckpointContext, { id, holder }: LeaseState): boolean =>
  holder !== undefined && self.isGone(holder, id);

export function leasedTo({ owner, expiresAt, holder }: LeaseState): string {
  const until = new Date(expiresAt).toISOString();
  if (holder === undefined) return `it is leased to ${JSON.stringify(owner)} until ${until}`;
  return `a run of an agent holds it (${owner}, until ${until} unless the run goes on); wait for the run to end`;
}

/** What a write leaves in the log: the holder's own writes renew the lease, others only keep its epoch. */
export function leaseAfterWrite(
  context: CheckpointContext,
  known: KnownThread,
  held: Lease | undefined,
): LeaseState | undefined {
  const current = leaseIn(known);
  if (held === undefined) return current === undefined ? undefined : { ...current, expiresAt: 0 };
  const isTaken = held.taking === true && !isHeldBy(current, held);
  const epoch = isTaken ? (current?.epoch ?? 0) + 1 : held.epoch;
  return leaseState(context, { ...held, epoch }, known.generation);
}

export const isHeldBy = (current: LeaseState | undefined, lease: Pick<Lease, "id">): boolean =>
  current?.id === lease.id && current.expiresAt > 0;

export const leaseState = (
  context: CheckpointContext,
  { id, owner, epoch, ttlMs, clockOffsetMs, holder, ends }: Lease,
  generation: string,
): LeaseState => ({
  id,
  owner,
  epoch,
  expiresAt: ends === true ? 0 : context.now() + clockOffsetMs + ttlMs,
  generation,
  ...(holder !== undefined && { holder }),
});

export const leaseConflict = (context: CheckpointContext, threadId: string, fault: string): StateError =>
  new StateError("CONFLICT", `${context.log.name}: thread ${JSON.stringify(threadId)} cannot be written: ${fault}`, {
    backend: context.log.name,
    threadId,
    written: "no",
  });
