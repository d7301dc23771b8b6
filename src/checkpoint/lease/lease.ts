import { assertOwner, newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { CheckpointContext } from "../context.ts";
import { LONGEST_TTL_MS } from "../log/driver-rules.ts";
import type { LeaseState } from "../record/record.ts";
import { type Plan, planMark, type Tail, Thread } from "../thread/thread.ts";
import {
  factsWith,
  type Lease,
  type LeaseTerms,
  leaseAfterWrite,
  leaseConflict,
  leasedTo,
  leaseIn,
  leaseWith,
  movedFault,
  ownedByDead,
} from "./lease-rules.ts";

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
  const thread = new Thread(context, threadId, "lease");
  const lost = new AbortController();
  const terms = await acquire(thread, options);
  const renewal = keepRenewed(thread, terms, lost);
  try {
    return await work(leaseWith({ threadId, owner: terms.owner, ttlMs: terms.ttlMs, signal: lost.signal }, terms));
  } finally {
    renewal.stop();
    await renewal.idle();
    // A failure here must not lose the result of the work: an unreleased lease ends by itself.
    await release(thread, terms).catch(() => undefined);
  }
}

async function acquire(thread: Thread, options: LeaseOptions): Promise<LeaseTerms> {
  const { context } = thread;
  const { owner, ttlMs, waitMs, signal } = checkedTerms(options);
  const deadline = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const tail = await thread.tail();
    const clockOffsetMs = (await context.storageNow()) - context.now();
    const terms: LeaseTerms = { id: newId(), owner, ttlMs, clockOffsetMs };
    const leftOf = (lease: LeaseState): number => lease.expiresAt - (context.now() + clockOffsetMs);
    let holder: LeaseState | undefined;
    const taken = await thread.append(tail, (behind) => {
      const moved = movedFault(behind?.thread);
      if (moved !== undefined) throw leaseConflict(context, thread.id, moved);
      const current = leaseIn(behind);
      if (current !== undefined && leftOf(current) > 0 && !ownedByDead(context, current)) {
        holder = current;
        return undefined;
      }
      return planLease(thread, behind, terms);
    });
    if (taken !== undefined || holder === undefined) return terms;
    if (performance.now() >= deadline) throw leaseConflict(context, thread.id, leasedTo(holder));
    await sleep(Math.min(Math.max(leftOf(holder), 5), 250), signal);
  }
}

/** A mark that says who holds the thread; without terms, that its lease is over. */
function planLease(thread: Thread, tail: Tail | undefined, terms: LeaseTerms | undefined): Plan {
  const generation = tail?.generation ?? newId();
  const facts = factsWith(tail?.thread, leaseAfterWrite(thread.context, generation, terms));
  return { ...planMark(thread, "lease", tail, facts), generation };
}

interface Terms extends Required<Omit<LeaseOptions, "signal">> {
  readonly signal: AbortSignal | undefined;
}

/** Refuses nonsensical terms before the lease is taken. */
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
  thread: Thread,
  terms: LeaseTerms,
  lost: AbortController,
): { stop(): void; idle(): Promise<void> } {
  let running: Promise<void> | undefined;
  const renew = async (): Promise<void> => {
    if (await rewrite(thread, terms, terms)) return;
    lost.abort(leaseConflict(thread.context, thread.id, "its lease was taken over"));
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
    Math.min(terms.ttlMs / 3, LONGEST_TIMER_MS),
  );
  timer.unref();
  return { stop: () => clearInterval(timer), idle: async () => running };
}

/** Releases the lease. A thread that never got a checkpoint is removed with it. */
async function release(thread: Thread, terms: LeaseTerms): Promise<void> {
  const tail = await thread.tail();
  if (tail?.head === 0 && leaseIn(tail)?.id === terms.id && (await thread.remove(tail)) !== "moved") return;
  await rewrite(thread, terms, undefined);
}

/** Renews the lease, or ends it, while it is still this one. Returns false if it no longer is. */
async function rewrite(thread: Thread, { id }: LeaseTerms, next: LeaseTerms | undefined): Promise<boolean> {
  const written = await thread.append(await thread.tail(), (tail) =>
    leaseIn(tail)?.id === id ? planLease(thread, tail, next) : undefined,
  );
  return written !== undefined;
}

/** The lease that a thread is under, as every reader sees it. */
export interface LeaseInfo {
  readonly owner: string;
  /** Names this holding. Passed to `breakLease`, so that it breaks this one and no later one. */
  readonly token: string;
  /** By the storage's clock. */
  readonly expiresAt: Date;
}

export interface BreakLeaseOptions {
  /** Break only this holding; a later one is `CONFLICT`. @default the present one */
  readonly ifToken?: string;
}

/** The lease that the thread is under at the moment, if any. */
export async function currentLease(context: CheckpointContext, threadId: string): Promise<LeaseInfo | undefined> {
  const current = leaseIn(await new Thread(context, threadId, "lease").tail());
  if (current === undefined || current.expiresAt <= (await context.storageNow())) return undefined;
  const { owner, id, expiresAt } = current;
  return { owner, token: id, expiresAt: new Date(expiresAt) };
}

/**
 * Ends another holder's lease. The log records it and refuses that holder's next
 * write, so this needs neither consent nor a clock.
 */
export async function endLease(
  context: CheckpointContext,
  threadId: string,
  { ifToken }: BreakLeaseOptions,
): Promise<boolean> {
  if (ifToken !== undefined && (typeof ifToken !== "string" || ifToken === "")) {
    throw new StateError("INVALID_ARGUMENT", "ifToken must be the token of a lease, as leaseOf() tells it");
  }
  const thread = new Thread(context, threadId, "lease");
  const ended = await thread.append(await thread.tail(), (tail) => {
    const current = leaseIn(tail);
    if (current === undefined) return undefined;
    if (ifToken === undefined || current.id === ifToken) return planLease(thread, tail, undefined);
    const fault = `the lease ${ifToken} is over, and ${leasedTo(current)} (token ${current.id})`;
    throw leaseConflict(context, threadId, fault);
  });
  return ended !== undefined;
}
