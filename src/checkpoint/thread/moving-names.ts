import type { StateFields } from "../../state/fields.ts";
import type { CheckpointContext } from "../context.ts";
import { messagesBroughtBy, neighbours, planRemovalOf } from "../history/editing.ts";
import type { Edits } from "../history/edits.ts";
import { countingAsNew, type PlannedBody } from "../record/plan-record.ts";
import { stepsOf, withoutName } from "../record/steps.ts";
import type { Position } from "./position.ts";

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
  // A base that replaces the record which brought its messages: they count as its own now, or no
  // search would find them.
  const brought = await messagesBroughtBy(context, threadId, gone);
  return { planned: countingAsNew(planned, fields, [...brought, ...planned.newMessages]), edits };
}

const replacing = (step: Awaited<ReturnType<typeof withoutName>>): Edits =>
  // Gone in the meantime: then the tail has moved, and the append is refused.
  step === undefined ? {} : { replace: [step] };
