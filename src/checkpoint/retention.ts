import { StateError } from "../errors.ts";
import type { VacuumOptions, VacuumReport } from "./base-checkpointer.ts";
import type { CheckpointContext } from "./context.ts";
import { appendEdit, type Edits, entries, rebuiltOn } from "./editing.ts";
import { fits } from "./plan-record.ts";
import { openHeader } from "./record.ts";
import type { LogEntry } from "./thread-log.ts";

/** Retention for one thread: takes away its oldest checkpoints, or all of them. */
export async function vacuumThread(
  context: CheckpointContext,
  threadId: string,
  options: VacuumOptions,
): Promise<VacuumReport> {
  const dryRun = options.dryRun ?? false;
  const place = { operation: "vacuum", threadId };
  for (;;) {
    const tail = await context.call(place, (log) => log.tail(threadId));
    if (tail === undefined) return { checkpoints: 0, threads: 0, dryRun };
    const all: LogEntry[] = [];
    for await (const entry of entries(context, threadId)) all.unshift(entry);
    const wanted = countToRemove(context, all, options);
    const whole = wanted === all.length;
    const { cut, edits } = whole
      ? { cut: wanted, edits: undefined }
      : await planCut(context, threadId, all, wanted, dryRun);
    const report = { checkpoints: cut, threads: whole && cut > 0 ? 1 : 0, dryRun };
    if (dryRun || (cut === 0 && edits === undefined)) return report;
    if (whole) {
      const ifTail = { generation: tail.generation, seq: tail.entry.seq };
      if ((await context.call(place, (log) => log.remove(threadId, ifTail))) !== "moved") return report;
      continue;
    }
    if (edits === undefined || (await appendEdit(context, threadId, tail, undefined, edits))) return report;
  }
}

interface Cut {
  /** How many checkpoints go. */
  readonly cut: number;
  /** Nothing where there is nothing to do. */
  readonly edits: Edits | undefined;
}

/**
 * The checkpoint that becomes the oldest is made a base, and everything below it
 * goes: also the steps of one whose name was moved on. Where its state does not
 * fit into one record, what it builds on stays, and only what is older goes.
 */
async function planCut(
  context: CheckpointContext,
  threadId: string,
  all: readonly LogEntry[],
  wanted: number,
  dryRun: boolean,
): Promise<Cut> {
  const first = all[wanted];
  if (first === undefined) return { cut: 0, edits: undefined };
  const { kind, freshMessages, chain } = openHeader(first);
  if (kind === "base" && wanted === 0) return { cut: 0, edits: undefined };
  if (kind === "base" && freshMessages === undefined) return { cut: wanted, edits: { dropBelow: first.seq } };
  const { capabilities } = context.log;
  // A dry run reads no state: the headers tell about how large it is.
  if (dryRun && chain.liveBytes <= capabilities.maxRecordBytes) return { cut: wanted, edits: undefined };
  const replacement = dryRun ? undefined : await rebuiltOn(context, threadId, first, undefined);
  if (replacement !== undefined && fits(replacement, capabilities)) {
    return { cut: wanted, edits: { dropBelow: first.seq, replace: [replacement] } };
  }
  const below = all.filter(({ seq }) => seq < first.base).length;
  if (below < wanted) return planCut(context, threadId, all, below, dryRun);
  return { cut: below, edits: below === 0 ? undefined : { dropBelow: first.base } };
}

/** How many of the oldest go. In the order of the log: a clock that jumped cannot tear a hole into the history. */
function countToRemove(context: CheckpointContext, oldestFirst: readonly LogEntry[], options: VacuumOptions): number {
  const { olderThanDays, keepLast } = options;
  const byCount = keepLast === undefined ? oldestFirst.length : Math.max(0, oldestFirst.length - keepLast);
  if (olderThanDays === undefined) return byCount;
  const cutoff = context.now() - olderThanDays * 86_400_000;
  const firstYoung = oldestFirst.findIndex((entry) => openHeader(entry).createdAt >= cutoff);
  return Math.min(byCount, firstYoung === -1 ? oldestFirst.length : firstYoung);
}

export function assertVacuumOptions({ olderThanDays, keepLast }: VacuumOptions): void {
  if (olderThanDays === undefined && keepLast === undefined) {
    throw new StateError("INVALID_ARGUMENT", "vacuum needs olderThanDays or keepLast: say what may go");
  }
  if (olderThanDays !== undefined && !(typeof olderThanDays === "number" && olderThanDays >= 0)) {
    throw new StateError("INVALID_ARGUMENT", "olderThanDays must be a number from 0 on");
  }
  if (keepLast !== undefined && !(Number.isInteger(keepLast) && keepLast >= 1)) {
    throw new StateError("INVALID_ARGUMENT", "keepLast must be a whole number from 1 on");
  }
}
