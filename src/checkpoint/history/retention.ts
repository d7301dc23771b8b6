import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { inWaves, sharedReading } from "../../internal/concurrency.ts";
import { type ActiveHolds, HOLDS } from "../../state/people/legal-hold.ts";
import type { VacuumOptions, VacuumPlanEntry, VacuumReport } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { everyThread } from "../find/finding.ts";
import type { LogEntry, ThreadEntry } from "../log/thread-log.ts";
import { ERASURE_MARK } from "../people/erasure-mark.ts";
import { activeHolds, assertNotHeld } from "../people/holds.ts";
import { codecOf } from "../record/codec.ts";
import { fits } from "../record/plan-record.ts";
import { openHeader } from "../record/record.ts";
import { waitingAt } from "../signals/mailbox.ts";
import { Thread } from "../thread/thread.ts";
import { type Edit, type EditPlan, editThread, rebuiltOn } from "./editing.ts";

/** What may go, as of the moment the vacuum began. */
export interface Rule {
  readonly keepLast: number;
  /** Checkpoints from this time on stay. */
  readonly cutoff: number;
  readonly dryRun: boolean;
}

export interface Removed {
  readonly checkpoints: number;
  readonly threads: number;
}

/**
 * Where many threads are one call, a vacuum is as much work as the storage can do. It is in no hurry, and callers wait
 * for their saves: so it rests after each wave for this share of the time that the wave took. Removing checkpoints from
 * a thread that stays takes a dozen statements, and removing a thread one or two.
 */
const REST = { afterRemovals: 0.1, afterEdits: 0.4 };

const NOTHING: Removed = { checkpoints: 0, threads: 0 };

/** Retention for every thread. One that cannot be vacuumed is left as it is and reported; the others get their turn. */
export async function vacuumThreads(context: CheckpointContext, options: VacuumOptions): Promise<VacuumReport> {
  const { dryRun = false } = options;
  const rule = { ...ruleOf(context, options), dryRun };
  const warnings = new Warnings();
  const { callsTogether = 1 } = context.log.capabilities;
  const readHolds = sharedReading(() => activeHolds(context));
  let [checkpoints, threads] = [0, 0];
  let hasEdited = false;
  const work = async (thread: ThreadEntry): Promise<void> => {
    const { threadId } = thread;
    const removed = await warnings.skipping(threadId, () =>
      context.guard({ operation: "vacuum", threadId }, () => vacuumThread(context, thread, rule, readHolds)),
    );
    checkpoints += removed?.checkpoints ?? 0;
    threads += removed?.threads ?? 0;
    hasEdited ||= !dryRun && removed !== undefined && removed.checkpoints > 0 && removed.threads === 0;
  };
  const rest = (): number => {
    if (callsTogether === 1) return 0;
    const share = hasEdited ? REST.afterEdits : REST.afterRemovals;
    hasEdited = false;
    return share;
  };
  const pageSize = Math.max(100, callsTogether);
  const found = everyThread(context, "vacuum", "", warnings, pageSize);
  await inWaves(found, work, { atOnce: callsTogether, rest });
  return { checkpoints, threads, dryRun, skipped: warnings.count, warnings: warnings.list };
}

/** What a vacuum would take, thread by thread, as it is found. */
export async function* planVacuum(
  context: CheckpointContext,
  options: VacuumOptions,
): AsyncGenerator<VacuumPlanEntry, void, undefined> {
  const rule = { ...ruleOf(context, options), dryRun: true };
  const unlisted = new Warnings();
  for await (const thread of everyThread(context, "vacuumPlan", "", unlisted)) {
    const { threadId } = thread;
    const own = new Warnings();
    const found = await own.skipping(threadId, () =>
      context.guard({ operation: "vacuumPlan", threadId }, () => vacuumThread(context, thread, rule)),
    );
    const [skipped] = own.list;
    if (skipped !== undefined) yield { threadId, checkpoints: 0, isWhole: false, skipped };
    else if (found !== undefined && found.checkpoints > 0)
      yield { threadId, checkpoints: found.checkpoints, isWhole: found.threads > 0 };
  }
  for (const skipped of unlisted.list)
    yield { threadId: skipped.threadId ?? "", checkpoints: 0, isWhole: false, skipped };
}

const ruleOf = (context: CheckpointContext, { olderThanDays, keepLast = 0 }: VacuumOptions): Omit<Rule, "dryRun"> => ({
  keepLast,
  cutoff: olderThanDays === undefined ? Number.POSITIVE_INFINITY : context.now() - olderThanDays * 86_400_000,
});

/** What the package itself keeps in threads is no history: it stays until what it is about goes. */
const isOwnThread = (threadId: string): boolean => threadId === HOLDS || threadId === ERASURE_MARK.threadId;

/** Takes away the thread's oldest checkpoints, or all of them. */
export async function vacuumThread(
  context: CheckpointContext,
  { threadId, head }: ThreadEntry,
  rule: Rule,
  readHolds?: () => Promise<ActiveHolds>,
): Promise<Removed> {
  if (isOwnThread(threadId)) return NOTHING;
  const { saver } = codecOf(openHeader(head).thread);
  if (saver !== undefined) return (await saver()).vacuumGraph(context, threadId, rule);
  // A thread holds no more checkpoints than the position of its newest says: the many short ones cost no call.
  if (head.seq <= rule.keepLast || (head.seq === 1 && isYoung(head, rule))) return NOTHING;
  const thread = new Thread(context, threadId, "vacuum");
  const mayGo = (entry: LogEntry, newer: number): boolean => newer >= rule.keepLast && !isYoung(entry, rule);
  return editThread(thread, async (tail): Promise<Edit<Removed>> => {
    // A hold marks the newest record when it is placed: where that cannot be read, reading the tail has failed.
    if (tail === undefined) return { result: NOTHING };
    const { oldestKept, outdated } = await survey(thread, mayGo);
    if (oldestKept === undefined) {
      const result = { checkpoints: outdated, threads: outdated > 0 ? 1 : 0 };
      const isWanted = waitingAt(tail).some(([, , , sentAt]) => sentAt >= rule.cutoff);
      if (outdated === 0 || isWanted) return { result: NOTHING };
      await assertNotHeld(context, threadId, readHolds);
      return rule.dryRun ? { result } : { result, removesThread: true };
    }
    const cut = await planCut(thread, { outdated, oldestKept }, rule);
    if (cut.outdated > 0 || cut.plan !== undefined) await assertNotHeld(context, threadId, readHolds);
    const result = { checkpoints: cut.outdated, threads: 0 };
    return { result, ...(!rule.dryRun && cut.plan && { plan: cut.plan }) };
  });
}

interface Cut {
  /** How many checkpoints go. */
  readonly outdated: number;
  /** Nothing where there is nothing to do. */
  readonly plan: EditPlan | undefined;
}

/**
 * The checkpoint that becomes the oldest is made a base, and everything below it
 * goes: also the steps of one whose name was moved on. Where its state does not
 * fit into one record, what it builds on stays, and only what is older goes.
 */
async function planCut(
  thread: Thread,
  { outdated, oldestKept }: { readonly outdated: number; readonly oldestKept: LogEntry },
  rule: Rule,
): Promise<Cut> {
  const restsOn = [oldestKept];
  const { kind, freshMessages, chain } = openHeader(oldestKept);
  if (kind === "base" && outdated === 0) return { outdated, plan: undefined };
  const { seq, base } = oldestKept;
  if (kind === "base" && freshMessages === undefined) return { outdated, plan: { edits: { dropBelow: seq }, restsOn } };
  const { capabilities } = thread.context.log;
  // A dry run reads no state: the headers tell about how large it is.
  if (rule.dryRun && chain.liveBytes <= capabilities.maxRecordBytes) return { outdated, plan: undefined };
  const replacement = rule.dryRun ? undefined : await rebuiltOn(thread, oldestKept, undefined);
  if (replacement !== undefined && fits(replacement, capabilities)) {
    return { outdated, plan: { edits: { dropBelow: seq, replace: [replacement] }, restsOn } };
  }
  const below = await survey(thread, (entry) => entry.seq < base);
  if (below.oldestKept !== undefined && below.outdated < outdated) {
    return planCut(thread, { outdated: below.outdated, oldestKept: below.oldestKept }, rule);
  }
  return {
    outdated: below.outdated,
    plan: below.outdated === 0 ? undefined : { edits: { dropBelow: base }, restsOn },
  };
}

/**
 * How many of the oldest go, and the oldest of those that stay. In the order of
 * the log: a clock that jumped cannot tear a hole into the history. Holds no
 * more than a page of entries, however many there are. `mayGo` is told how many
 * are newer.
 */
async function survey(
  thread: Thread,
  mayGo: (entry: LogEntry, newer: number) => boolean,
): Promise<{ readonly outdated: number; readonly oldestKept: LogEntry | undefined }> {
  let [met, kept] = [0, 0];
  let oldestKept: LogEntry | undefined;
  for await (const entry of thread.entries()) {
    met++;
    if (mayGo(entry, met - 1)) continue;
    kept = met;
    oldestKept = entry;
  }
  return { outdated: met - kept, oldestKept };
}

const isYoung = (entry: LogEntry, { cutoff }: Rule): boolean =>
  cutoff !== Number.POSITIVE_INFINITY && openHeader(entry).createdAt >= cutoff;

export function assertVacuumOptions({ olderThanDays, keepLast, dryRun }: VacuumOptions): void {
  if (olderThanDays === undefined && keepLast === undefined) {
    throw new StateError("INVALID_ARGUMENT", "vacuum needs olderThanDays or keepLast: say what may go");
  }
  if (olderThanDays !== undefined && !(typeof olderThanDays === "number" && olderThanDays >= 0)) {
    throw new StateError("INVALID_ARGUMENT", "olderThanDays must be a number from 0 on");
  }
  if (keepLast !== undefined && !(Number.isInteger(keepLast) && keepLast >= 1)) {
    throw new StateError("INVALID_ARGUMENT", "keepLast must be a whole number from 1 on");
  }
  if (dryRun !== undefined && typeof dryRun !== "boolean") {
    throw new StateError("INVALID_ARGUMENT", "dryRun must be true or false");
  }
}
