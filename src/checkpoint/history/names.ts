import type { StateFields } from "../../state/fields.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { asStep } from "../record/codec.ts";
import { countingAsNew, type PlannedBody } from "../record/plan-record.ts";
import type { Position } from "../thread/position.ts";
import type { Edits, Thread } from "../thread/thread.ts";
import { messagesBroughtBy, neighbours, planRemovalOf, stepsOf } from "./editing.ts";

/** An append that takes over a name: its record, and what happens to the checkpoint that had the name. */
export interface NamedPlan {
  readonly planned: PlannedBody;
  readonly edits: Edits;
}

/**
 * Frees a name for the record that is about to be appended. A record that others
 * build on only loses its name, so saving repeatedly under one name costs only
 * what is new. A record that nothing builds on any more is removed.
 */
export async function freeName(
  thread: Thread,
  checkpointId: string,
  fields: StateFields,
  planned: PlannedBody,
  builtOn: Position | undefined,
): Promise<NamedPlan> {
  if (builtOn?.checkpointId === checkpointId) return { planned, edits: await withoutName(thread, builtOn) };
  const entry = await thread.named(checkpointId);
  if (entry === undefined) return { planned, edits: {} };
  const { newer, older } = await neighbours(thread, entry);
  if (newer !== undefined) {
    const isNeeded = newer.base <= entry.seq;
    const edits = isNeeded ? await withoutName(thread, entry) : await planRemovalOf(thread, entry, newer, older);
    return { planned, edits };
  }
  const gone = [...(await stepsOf(thread, entry, older)), entry];
  const edits = { drop: gone.map(({ seq }) => seq) };
  if (planned.freshMessages === undefined) return { planned, edits };
  // A base that replaces the record which brought its messages: they count as its own now, or no
  // search would find them.
  const brought = await messagesBroughtBy(thread, gone);
  return { planned: countingAsNew(planned, fields, [...brought, ...planned.newMessages]), edits };
}

/** The record of this checkpoint becomes a step. If it is gone meanwhile, the tail has moved, and the append is refused. */
async function withoutName(
  thread: Thread,
  {
    seq,
    checkpointId = "",
    record,
  }: Pick<LogEntry, "seq" | "checkpointId"> & { readonly record?: LogRecord | undefined },
): Promise<Edits> {
  const whole = record ?? (await thread.chainOf(checkpointId))?.records.at(-1);
  if (whole?.seq !== seq) return {};
  const older = await thread.newest(seq);
  return { replace: [asStep(whole, older?.seq ?? 0)] };
}
