import { StateError } from "../errors.ts";
import type { VacuumOptions, VacuumReport } from "./base-checkpointer.ts";
import type { CheckpointContext } from "./context.ts";
import { appendEdit, entries, rebuiltOn } from "./editing.ts";
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
    const cut = countToRemove(context, all, options);
    const whole = cut === all.length;
    const report = { checkpoints: cut, threads: whole && cut > 0 ? 1 : 0, dryRun };
    if (cut === 0 || dryRun) return report;
    if (whole) {
      const ifTail = { generation: tail.generation, seq: tail.entry.seq };
      if ((await context.call(place, (log) => log.remove(threadId, ifTail))) !== "moved") return report;
      continue;
    }
    const first = all[cut];
    if (first === undefined) return report;
    const { kind, freshMessages } = openHeader(first);
    const standsAlone = kind === "base" && freshMessages === undefined;
    const replacement = standsAlone ? undefined : await rebuiltOn(context, threadId, first, undefined);
    const edits = { dropBelow: first.seq, ...(replacement !== undefined && { replace: [replacement] }) };
    if (await appendEdit(context, threadId, tail, undefined, edits)) return report;
  }
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
