import { Refusal } from "../../server/request/refusal.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { diffStates, type StateDiff } from "../../state/diff.ts";
import type { DiffAnswer, DiffSide, FieldChange } from "../api.ts";
import type { StudioRequest } from "../request.ts";
import type { SeenState } from "../state-cache.ts";
import type { StudioContext } from "../studio-context.ts";
import { cut, cutAt, fitting, LINE_SHOWN } from "./cut.ts";
import { jsonText } from "./value-tree.ts";

const MOST_FIELDS = 100;
const FIELD_SHOWN = 1000;

/** Two states of any threads. The messages themselves are asked for where they are looked at. */
export async function diffAnswer(studio: StudioContext, request: StudioRequest): Promise<DiffAnswer> {
  const [a, b] = await Promise.all([sideOf(studio, request, "a"), sideOf(studio, request, "b")]);
  const { messages, fields: changed } = compared(a, b);
  const changes = Object.entries(changed);
  const fields = fitting(changes.slice(0, MOST_FIELDS).map(([name, change]) => shownChange(name, change)));
  return {
    a: shownSide(a),
    b: shownSide(b),
    shared: messages.shared,
    fields,
    moreFields: changes.length - fields.length,
  };
}

/** Of states that are kept, so that comparing two long ones again costs nothing. */
const known = new WeakMap<AgentState, WeakMap<AgentState, StateDiff>>();

function compared({ state: a }: SeenState, { state: b }: SeenState): StateDiff {
  const ofA = known.get(a) ?? new WeakMap<AgentState, StateDiff>();
  known.set(a, ofA);
  const diff = ofA.get(b) ?? diffStates(a.fields, b.fields);
  ofA.set(b, diff);
  return diff;
}

/**
 * Async, so that it rejects instead of throwing: a throw beside the other side would leave that one's rejection
 * unhandled, which ends the process.
 */
async function sideOf(studio: StudioContext, request: StudioRequest, side: "a" | "b"): Promise<SeenState> {
  const threadId = request.text(side);
  if (threadId === undefined) throw new Refusal("INVALID_ARGUMENT", `${side} must name a thread`);
  return studio.states.at(threadId, request.checkpoint(`${side}At`));
}

const shownSide = ({ threadId, entry, header, state }: SeenState): DiffSide => ({
  threadId,
  checkpointId: entry.checkpointId ?? "",
  at: header.createdAt,
  messages: state.messages.length,
  totals: { ...state.totals },
  calls: state.toolExecutions.length,
  loadBytes: header.chain.bytes,
});

function shownChange(
  name: string,
  { before, after }: { readonly before: unknown; readonly after: unknown },
): FieldChange {
  return {
    name: cutAt(name, LINE_SHOWN),
    ...(before !== undefined && { before: cut(jsonText(before, 2), FIELD_SHOWN) }),
    ...(after !== undefined && { after: cut(jsonText(after, 2), FIELD_SHOWN) }),
  };
}
