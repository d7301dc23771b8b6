import { StateError } from "../errors.ts";
import { sleep } from "../internal/sleep.ts";
import { type CheckpointContext, newId } from "./context.ts";
import { isHeldBy, type Lease, leaseConflict, leaseState } from "./lease-rules.ts";
import { type LeaseState, openHeader, sealMark } from "./record.ts";
import type { AppendRequest, LogEntry } from "./thread-log.ts";

export type { Lease } from "./lease-rules.ts";

export interface LeaseOptions {
  /** Shown to whoever is refused. @default a random name */
  readonly owner?: string;
  /** How long after the holder's last sign of life another may take over. @default 30000 */
  readonly ttlMs?: number;
  /** How long to wait for another holder before giving up. @default 0 */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

interface Tail {
  readonly generation: string;
  readonly entry: LogEntry;
}

/** Runs `work` while holding the thread's lease; renews it, and gives it back in the end. */
export async function withLease<T>(
  context: CheckpointContext,
  threadId: string,
  work: (lease: Lease) => Promise<T>,
  options: LeaseOptions,
): Promise<T> {
  const lost = new AbortController();
  const lease = await acquire(context, threadId, options, lost.signal);
  const renewal = keepRenewed(context, lease, lost);
  try {
    return await work(lease);
  } finally {
    renewal.stop();
    await renewal.idle();
    // What the work returned must not be lost over this: a lease that is not given back ends by itself.
    await release(context, lease).catch(() => undefined);
  }
}

async function acquire(
  context: CheckpointContext,
  threadId: string,
  options: LeaseOptions,
  lost: AbortSignal,
): Promise<Lease> {
  const { owner = newId(), ttlMs = 30_000, waitMs = 0, signal } = options;
  if (!(ttlMs > 0)) throw new StateError("INVALID_ARGUMENT", "ttlMs must be greater than 0");
  const deadline = context.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const tail = await readTail(context, threadId);
    const current = leaseOf(tail);
    const now = await context.storageNow();
    if (current === undefined || current.expiresAt <= now) {
      const epoch = (current?.epoch ?? 0) + 1;
      const clockOffsetMs = now - context.now();
      const lease: Lease = { id: newId(), threadId, owner, epoch, ttlMs, signal: lost, clockOffsetMs };
      if (await appendLease(context, threadId, tail, leaseState(context, lease))) return lease;
    } else if (context.now() >= deadline) {
      const until = new Date(current.expiresAt).toISOString();
      throw leaseConflict(context, threadId, `it is leased to ${JSON.stringify(current.owner)} until ${until}`);
    } else await sleep(Math.min(Math.max(current.expiresAt - now, 5), 250), signal);
  }
}

function keepRenewed(
  context: CheckpointContext,
  lease: Lease,
  lost: AbortController,
): { stop(): void; idle(): Promise<void> } {
  let running: Promise<void> = Promise.resolve();
  const renew = async (): Promise<void> => {
    const renewed = await rewrite(context, lease, () => leaseState(context, lease));
    if (!renewed) lost.abort(leaseConflict(context, lease.threadId, "its lease was taken over"));
  };
  const timer = setInterval(() => {
    running = running.then(renew).catch(() => {
      // The storage did not answer. The lease may yet be good; if it is not, the next write is refused.
    });
  }, lease.ttlMs / 3);
  timer.unref();
  return { stop: () => clearInterval(timer), idle: () => running };
}

/** Gives the lease back. A thread that never got a checkpoint goes with it. */
async function release(context: CheckpointContext, lease: Lease): Promise<void> {
  const tail = await readTail(context, lease.threadId);
  if (tail !== undefined && tail.entry.head === 0 && holds(tail, lease)) {
    const ifTail = { generation: tail.generation, seq: tail.entry.seq };
    const place = { operation: "release", threadId: lease.threadId };
    const removed = await context.call(place, (log) => log.remove(lease.threadId, ifTail));
    if (removed !== "moved") return;
  }
  await rewrite(context, lease, (current) => ({ ...current, expiresAt: 0 }));
}

/** Replaces the lease in the log while it is still this one. False when it no longer is. */
async function rewrite(
  context: CheckpointContext,
  lease: Lease,
  change: (current: LeaseState) => LeaseState,
): Promise<boolean> {
  for (;;) {
    const tail = await readTail(context, lease.threadId);
    const current = leaseOf(tail);
    if (current === undefined || !holds(tail, lease)) return false;
    if (await appendLease(context, lease.threadId, tail, change(current))) return true;
  }
}

async function appendLease(
  context: CheckpointContext,
  threadId: string,
  tail: Tail | undefined,
  lease: LeaseState,
): Promise<boolean> {
  const writeId = newId();
  const seq = (tail?.entry.seq ?? 0) + 1;
  const base = tail === undefined || tail.entry.head === 0 ? seq : tail.entry.base;
  const facts = { ...(tail && openHeader(tail.entry).thread), lease };
  const record = sealMark("lease", { seq, writeId, base, head: tail?.entry.head ?? 0 }, context.now(), facts);
  const request: AppendRequest = {
    generation: tail?.generation ?? writeId,
    expected: tail?.entry.seq ?? 0,
    record,
    ...(tail !== undefined && openHeader(tail.entry).kind === "lease" && { drop: [tail.entry.seq] }),
  };
  const outcome = await context.call({ operation: "lease", threadId }, (log) => log.append(threadId, request));
  return outcome.appended || outcome.occupant?.writeId === writeId;
}

const readTail = (context: CheckpointContext, threadId: string): Promise<Tail | undefined> =>
  context.call({ operation: "lease", threadId }, (log) => log.tail(threadId));

const leaseOf = (tail: Tail | undefined): LeaseState | undefined =>
  tail === undefined ? undefined : openHeader(tail.entry).thread?.lease;

const holds = (tail: Tail | undefined, lease: Lease): boolean => isHeldBy(leaseOf(tail), lease);
