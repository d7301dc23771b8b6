import { assertOwner } from "../../driver/ids.ts";
import { newId } from "../../driver/new-id.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { CheckpointContext } from "../context.ts";
import { beginningOf, LONGEST_TTL_MS, placeOfTail, wasAppended } from "../log/append-rules.ts";
import type { AppendRequest, ThreadTail } from "../log/thread-log.ts";
import { type LeaseState, markRecord, openHeader } from "../record/record.ts";
import { LostRaces } from "../thread/lost-races.ts";
import { assertNotMoved } from "../thread/moved-threads.ts";
import { isHeldBy, type Lease, leaseConflict, leasedTo, leaseIn, leaseState, ownedByDead } from "./lease-rules.ts";

export type { Lease } from "./lease-rules.ts";

export interface LeaseOptions {
  /** Shown to others who are refused. @default a random name */
  readonly owner?: string;
  /**
   * How long after the holder's last sign of life another may take over; at most a
   * hundred years, also for `Infinity`. @default 30000
   */
  readonly ttlMs?: number;
  /** How long to wait for another holder before giving up. @default 0 */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Runs `work` while holding the thread's lease; renews it, and releases it at the end. */
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
    // A failure here must not lose the result of the work: an unreleased lease ends by itself.
    await release(context, lease).catch(() => undefined);
  }
}

async function acquire(
  context: CheckpointContext,
  threadId: string,
  options: LeaseOptions,
  lost: AbortSignal,
): Promise<Lease> {
  const { owner, ttlMs, waitMs, signal } = checkedTerms(options);
  const deadline = context.now() + waitMs;
  let races = new LostRaces(context, "lease", threadId);
  let tail = await readTail(context, threadId);
  let clockOffsetMs = await clockOffset(context);
  for (;;) {
    signal?.throwIfAborted();
    assertNotMoved(context, threadId, tail && openHeader(tail.entry).thread);
    const current = leaseOf(tail);
    const left = (current?.expiresAt ?? 0) - (context.now() + clockOffsetMs);
    if (current === undefined || left <= 0 || ownedByDead(context, current)) {
      const epoch = (current?.epoch ?? 0) + 1;
      const lease: Lease = { id: newId(), threadId, owner, epoch, ttlMs, signal: lost, clockOffsetMs };
      const outcome = await appendLease(context, threadId, tail, (generation) =>
        leaseState(context, lease, generation),
      );
      if (outcome.appended) return lease;
      races.lost();
      tail = outcome.tail;
    } else {
      if (context.now() >= deadline) throw leaseConflict(context, threadId, leasedTo(current));
      await sleep(Math.min(Math.max(left, 5), 250), signal);
      // Of those who wait for one holder after another each may lose to all others: how long it lasts is in `waitMs`.
      races = new LostRaces(context, "lease", threadId);
      tail = await readTail(context, threadId);
      clockOffsetMs = await clockOffset(context);
    }
  }
}

const clockOffset = async (context: CheckpointContext): Promise<number> => (await context.storageNow()) - context.now();

interface Terms extends Required<Omit<LeaseOptions, "signal">> {
  readonly signal: AbortSignal | undefined;
}

/** Refuses nonsensical terms before anybody relies on them. */
export const assertLeaseOptions = (options: LeaseOptions): void => void checkedTerms(options);

function checkedTerms({ owner = newId(), ttlMs = 30_000, waitMs = 0, signal }: LeaseOptions): Terms {
  assertOwner(owner);
  if (!(typeof ttlMs === "number" && ttlMs >= 1)) {
    throw new StateError("INVALID_ARGUMENT", `ttlMs must be a number of milliseconds from 1 on, not ${String(ttlMs)}`);
  }
  if (!(typeof waitMs === "number" && waitMs >= 0)) {
    throw new StateError(
      "INVALID_ARGUMENT",
      `waitMs must be a number of milliseconds from 0 on, not ${String(waitMs)}`,
    );
  }
  return { owner, ttlMs: Math.min(ttlMs, LONGEST_TTL_MS), waitMs, signal };
}

/** The longest delay of a timer. A longer one fires at once, again and again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function keepRenewed(
  context: CheckpointContext,
  lease: Lease,
  lost: AbortController,
): { stop(): void; idle(): Promise<void> } {
  let running: Promise<void> | undefined;
  const renew = async (): Promise<void> => {
    const renewed = await rewrite(context, lease, (generation) => leaseState(context, lease, generation));
    if (!renewed) lost.abort(leaseConflict(context, lease.threadId, "its lease was taken over"));
  };
  const timer = setInterval(
    () => {
      running ??= renew()
        .catch(() => {
          // The storage did not answer. The lease may still be valid; if not, the next write is refused.
        })
        .finally(() => {
          running = undefined;
        });
    },
    Math.min(lease.ttlMs / 3, LONGEST_TIMER_MS),
  );
  timer.unref();
  return { stop: () => clearInterval(timer), idle: async () => running };
}

/** Releases the lease. A thread that never got a checkpoint is removed with it. */
async function release(context: CheckpointContext, lease: Lease): Promise<void> {
  const tail = await readTail(context, lease.threadId);
  if (tail !== undefined && tail.entry.head === 0 && holds(tail, lease)) {
    const ifTail = placeOfTail(tail);
    const place = { operation: "release", threadId: lease.threadId };
    const removed = await context.call(place, (log) => log.remove(lease.threadId, ifTail));
    if (removed !== "moved") return;
  }
  await rewrite(context, lease, (generation) => ({ ...leaseState(context, lease, generation), expiresAt: 0 }));
}

/** Replaces the lease in the log while it is still this one. Returns false if it no longer is. */
async function rewrite(
  context: CheckpointContext,
  lease: Lease,
  next: (generation: string) => LeaseState,
): Promise<boolean> {
  const { threadId } = lease;
  let tail = await readTail(context, threadId);
  for (const races = new LostRaces(context, "lease", threadId); holds(tail, lease); races.lost()) {
    const outcome = await appendLease(context, threadId, tail, next);
    if (outcome.appended) return true;
    tail = outcome.tail;
  }
  return false;
}

type LeaseOutcome = { readonly appended: true } | { readonly appended: false; readonly tail: ThreadTail | undefined };

/** A refusal brings the current tail, so that the next attempt needs no extra call. */
async function appendLease(
  context: CheckpointContext,
  threadId: string,
  tail: ThreadTail | undefined,
  next: (generation: string) => LeaseState,
): Promise<LeaseOutcome> {
  const writeId = newId();
  const expected = tail === undefined ? beginningOf(writeId) : placeOfTail(tail);
  const { generation } = expected;
  const seq = expected.seq + 1;
  const base = tail === undefined || tail.entry.head === 0 ? seq : tail.entry.base;
  const facts = { ...(tail && openHeader(tail.entry).thread), lease: next(generation) };
  const record = markRecord("lease", { seq, writeId, base, head: tail?.entry.head ?? 0 }, context.now(), facts);
  const request: AppendRequest = {
    expected,
    record,
    ...(tail !== undefined && openHeader(tail.entry).kind === "lease" && { drop: [tail.entry.seq] }),
  };
  const outcome = await context.call({ operation: "lease", threadId }, (log) => log.append(threadId, request));
  if (wasAppended(outcome, request)) return { appended: true };
  const { tail: entry, generation: found } = outcome;
  return { appended: false, tail: entry && found !== undefined ? { generation: found, entry } : undefined };
}

/** The lease that a thread is under, as anybody may see it. */
export interface LeaseInfo {
  readonly owner: string;
  /** Grows with every new holder. Passed to `breakLease`, so that it breaks this holding and no later one. */
  readonly epoch: number;
  /** By the storage's clock. */
  readonly expiresAt: Date;
}

export interface BreakLeaseOptions {
  /** Break only this holding; a later one is `CONFLICT`. @default whoever holds it */
  readonly ifEpoch?: number;
}

/** Who may write the thread at the moment; `undefined` if nobody holds it. */
export async function currentLease(context: CheckpointContext, threadId: string): Promise<LeaseInfo | undefined> {
  const current = leaseOf(await readTail(context, threadId));
  if (current === undefined || current.expiresAt <= (await context.storageNow())) return undefined;
  const { owner, epoch, expiresAt } = current;
  return { owner, epoch, expiresAt: new Date(expiresAt) };
}

/**
 * Ends a lease that somebody else holds. The log records it and refuses the
 * holder's next write, so this needs neither consent nor a clock.
 */
export async function endLease(
  context: CheckpointContext,
  threadId: string,
  { ifEpoch }: BreakLeaseOptions,
): Promise<boolean> {
  if (ifEpoch !== undefined && !(Number.isSafeInteger(ifEpoch) && ifEpoch >= 0)) {
    throw new StateError("INVALID_ARGUMENT", "ifEpoch must be the epoch of a lease, as leaseOf() tells it");
  }
  let tail = await readTail(context, threadId);
  for (const races = new LostRaces(context, "lease", threadId); ; races.lost()) {
    const current = leaseOf(tail);
    if (current === undefined || current.expiresAt <= 0) return false;
    if (ifEpoch !== undefined && current.epoch !== ifEpoch) {
      const fault = `the lease of epoch ${ifEpoch} is over, and ${leasedTo(current)} (epoch ${current.epoch})`;
      throw leaseConflict(context, threadId, fault);
    }
    const outcome = await appendLease(context, threadId, tail, (generation) => ({
      ...current,
      expiresAt: 0,
      generation,
    }));
    if (outcome.appended) return true;
    tail = outcome.tail;
  }
}

const readTail = (context: CheckpointContext, threadId: string): Promise<ThreadTail | undefined> =>
  context.call({ operation: "lease", threadId }, (log) => log.tail(threadId));

const leaseOf = (tail: ThreadTail | undefined): LeaseState | undefined =>
  tail && leaseIn({ generation: tail.generation, thread: openHeader(tail.entry).thread });

const holds = (tail: ThreadTail | undefined, lease: Lease): boolean => isHeldBy(leaseOf(tail), lease);
