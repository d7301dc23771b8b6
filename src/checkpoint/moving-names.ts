import type { StateFields } from "../state/state-fields.ts";
import type { CheckpointContext } from "./context.ts";
import { type Edits, messagesBroughtBy, neighbours, planRemovalOf } from "./editing.ts";
import { countingAsNew, type PlannedBody } from "./plan-record.ts";
import type { Position } from "./position.ts";
import { stepsOf, withoutName } from "./steps.ts";

/** An append that takes a name over: its record, and what it does to the checkpoint that had the name. */
export interface NamedPlan {
  readonly planned: PlannedBody;
  readonly edits: Edits;
}

/**
 * Frees a name for the record that is about to be appended. What other records
 * build on only loses its name, so that a save under a name that moves on costs
 * what is new; what nothing builds on any more is taken out.
 */
export async function freeName(
  context: CheckpointContext,
  threadId: string,
  checkpointId: string,
  fields: StateFields,
  planned: PlannedBody,
  builtOn: Position | undefined,
): Promise<NamedPlan> {
  if (builtOn?.checkpointId === checkpointId) {
    return { planned, edits: replacing(await withoutName(context, threadId, builtOn)) };
  }
  const place = { operation: "save", threadId, checkpointId };
  const entry = await context.call(place, (log) => log.entry(threadId, checkpointId));
  if (entry === undefined) return { planned, edits: {} };
  const { newer, older } = await neighbours(context, threadId, entry);
  if (newer !== undefined) {
    const isNeeded = newer.base <= entry.seq;
    const edits = isNeeded
      ? replacing(await withoutName(context, threadId, entry))
      : await planRemovalOf(context, threadId, entry, newer, older);
    return { planned, edits };
  }
  const gone = [...(await stepsOf(context, threadId, entry, older)), entry];
  const edits = { drop: gone.map(({ seq }) => seq) };
  if (planned.freshMessages === undefined) return { planned, edits };
  // A base that takes the place of what brought its messages in: they are now its own, or no search would find them.
  const brought = await messagesBroughtBy(context, threadId, gone);
  return { planned: countingAsNew(planned, fields, [...brought, ...planned.newMessages]), edits };
}

const replacing = (step: Awaited<ReturnType<typeof withoutName>>): Edits =>
  // Gone meanwhile: then the tail has moved, and the append is refused.
  step === undefined ? {} : { replace: [step] };
