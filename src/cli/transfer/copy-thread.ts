import { createHash } from "node:crypto";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import { markMoved } from "../../checkpoint/history/branching.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { sendStored, signalsWaiting } from "../../checkpoint/signals/sending.ts";
import { StateError } from "../../errors.ts";
import { assertSame } from "./comparing.ts";
import { assertFits, isPartOf, type OnConflict, type Placed, placeThread } from "./placing.ts";
import { type SourceThread, threadOf } from "./source-thread.ts";

export interface CopyRule {
  readonly onConflict: OnConflict;
  readonly verify: string;
  readonly isDry: boolean;
  /** No other process writes to a thread while it is copied. */
  readonly freezes: boolean;
  /** What the source says afterwards of where the thread is; nothing where it stays. */
  readonly cutOverTo: string | undefined;
  readonly signal: AbortSignal;
  readonly took: (bytes: number) => Promise<void>;
}

export interface CopiedThread extends Placed {
  readonly isVerified: boolean;
}

/** A thread that is written to again and again is left to its writers. */
const MOST_LOOKS = 5;
const NOTHING = { records: 0, bytes: 0, isVerified: false } as const;

/** One thread, from one store to the other. `undefined` where it is gone. A target that is not there yet is `undefined`. */
export async function copyThread(
  from: Checkpointer,
  to: CheckpointContext | undefined,
  threadId: string,
  rule: CopyRule,
): Promise<CopiedThread | undefined> {
  const source = contextOf(from) as CheckpointContext;
  if (rule.isDry || to === undefined) return dryRun(source, to, threadId);
  if (await isMovedThere(source, threadId, rule.cutOverTo)) return { outcome: "there already", ...NOTHING };
  if (!rule.freezes) return moved(from, source, to, threadId, rule);
  // Short, so that what a killed copy held is soon free for the next.
  const terms = { owner: "holdfast copy", ttlMs: 10_000 };
  return from.withLease(threadId, () => moved(from, source, to, threadId, rule), terms);
}

/** An earlier run of the same command did it. */
async function isMovedThere(source: CheckpointContext, threadId: string, to: string | undefined): Promise<boolean> {
  if (to === undefined) return false;
  const tail = await source.call({ operation: "copy", threadId }, (log) => log.tail(threadId));
  return tail !== undefined && openHeader(tail.entry).thread?.moved?.to === to;
}

async function moved(
  from: Checkpointer,
  source: CheckpointContext,
  to: CheckpointContext,
  threadId: string,
  rule: CopyRule,
): Promise<CopiedThread | undefined> {
  const { cutOverTo, freezes } = rule;
  if (cutOverTo === undefined) return copied(source, to, threadId, rule);
  const holder = freezes ? undefined : await from.leaseOf(threadId);
  if (holder !== undefined) {
    throw new StateError("CONFLICT", `it is held by ${holder.owner}; it is not moved while it is in use`, {
      threadId,
    });
  }
  let [records, bytes] = [0, 0];
  for (let look = 1; look <= MOST_LOOKS; look++) {
    const tail = await source.call({ operation: "copy", threadId }, (log) => log.tail(threadId));
    const result = await copied(source, to, threadId, rule);
    if (tail === undefined || result === undefined || result.outcome === "skipped") return result;
    [records, bytes] = [records + result.records, bytes + result.bytes];
    for (const signal of await signalsWaiting(source, threadId)) await sendStored(to, threadId, signal);
    // All that was there at that tail is in the target: from here on nothing more may come.
    if (await markMoved(source, threadId, tail, cutOverTo)) {
      return { ...result, outcome: records === 0 ? result.outcome : "copied", records, bytes };
    }
  }
  throw new StateError("CONFLICT", "it is written to all the time; stop its agents, or hold it with --freeze", {
    threadId,
  });
}

async function copied(
  source: CheckpointContext,
  to: CheckpointContext,
  threadId: string,
  { onConflict, verify, signal, took }: CopyRule,
): Promise<CopiedThread | undefined> {
  const thread = await threadOf(source, threadId);
  // Deleted while it was listed.
  if (thread === undefined) return undefined;
  const placed = await placeThread(to, thread, onConflict, signal, took);
  const isVerified = placed.outcome !== "skipped" && isWanted(verify, placed, threadId);
  if (isVerified) await assertSame(to, thread);
  return { ...placed, isVerified };
}

async function dryRun(
  source: CheckpointContext,
  to: CheckpointContext | undefined,
  threadId: string,
): Promise<CopiedThread | undefined> {
  const thread = await threadOf(source, threadId);
  return thread && { ...(await planned(to, thread)), isVerified: false };
}

async function planned(to: CheckpointContext | undefined, source: SourceThread): Promise<Placed> {
  const { threadId, outline } = source;
  const tail = await to?.call({ operation: "copy", threadId }, (log) => log.tail(threadId));
  if (to !== undefined && tail !== undefined && !(await isPartOf(to, source, tail))) {
    throw new StateError("CONFLICT", "the target has another thread of this id", { threadId });
  }
  if (to !== undefined) assertFits(to, source);
  const rest = outline.slice(tail?.entry.seq ?? 0);
  const bytes = rest.reduce((sum, record) => sum + record.bytes, 0);
  return { outcome: rest.length === 0 ? "there already" : "copied", records: rest.length, bytes };
}

/** A sample is the same tenth of the threads every time. */
const isWanted = (verify: string, { outcome }: Placed, threadId: string): boolean =>
  verify === "full" ||
  (verify === "copied" && outcome === "copied") ||
  (verify === "sample" && (createHash("sha256").update(threadId).digest()[0] ?? 0) < 26);
