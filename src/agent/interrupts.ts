import { StateError } from "../errors.ts";
import { type AnySchema, readySchema } from "../models/schema.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { Interrupt } from "../state/state-fields.ts";

/** Ends an attempt. A class of our own that data cannot make: no tool output is ever read as one. */
export class InterruptSignal {
  readonly interrupt: Interrupt;

  constructor(interrupt: Interrupt) {
    this.interrupt = interrupt;
  }
}

/** How a person answers a tool that needs approval. */
export type Approval =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason?: string }
  | { readonly decision: "edit"; readonly arguments: unknown };

export const pendingInterrupts = (state: AgentState): readonly Interrupt[] =>
  state.interrupts.filter((interrupt) => interrupt.answer === undefined);

/** The answer to the n-th question of a call, or the signal that ends the attempt where there is none yet. */
export function askPerson(
  state: AgentState,
  toolCallId: string,
  ordinal: number,
  request: { readonly question: string; readonly schema?: AnySchema },
  now: number,
): { readonly value: unknown } | InterruptSignal {
  const id = `${toolCallId}/${ordinal}`;
  const known = state.interrupts.find((interrupt) => interrupt.id === id);
  if (known?.answer !== undefined) return { value: known.answer.value };
  const schema = request.schema === undefined ? undefined : readySchema(request.schema, "interrupt schema").jsonSchema;
  return new InterruptSignal(
    known ?? {
      id,
      toolCallId,
      kind: "question",
      question: request.question,
      askedAt: now,
      ...(schema !== undefined && { schema }),
    },
  );
}

/** Writes a person's answer into the state. Only a question that waits can be answered, and only once. */
export async function answerInterrupt(
  state: AgentState,
  interruptId: string,
  response: unknown,
  now: number,
): Promise<AgentState> {
  const interrupt = state.interrupts.find(({ id }) => id === interruptId);
  if (interrupt === undefined) {
    const waiting = pendingInterrupts(state).map(({ id }) => id);
    const which = waiting.length === 0 ? "nothing waits" : `waiting are ${waiting.join(", ")}`;
    throw new StateError("NOT_FOUND", `there is no interrupt ${JSON.stringify(interruptId)} in this thread; ${which}`);
  }
  if (interrupt.answer !== undefined) {
    const when = new Date(interrupt.answer.at).toISOString();
    throw new StateError("CONFLICT", `interrupt ${JSON.stringify(interruptId)} was answered already, at ${when}`);
  }
  if (interrupt.kind === "approval") assertApproval(response);
  else if (interrupt.schema !== undefined) {
    const checked = await readySchema(interrupt.schema, "interrupt schema").check(response);
    if ("faults" in checked) {
      throw new StateError(
        "INVALID_ARGUMENT",
        `the answer does not fit the question's schema: ${checked.faults.join("; ")}`,
      );
    }
  }
  return state.withInterrupt({ ...interrupt, answer: { value: response, at: now } });
}

function assertApproval(response: unknown): asserts response is Approval {
  const { decision } = (response ?? {}) as { decision?: unknown };
  if (decision === "approve" || decision === "deny") return;
  if (decision === "edit" && typeof response === "object" && response !== null && "arguments" in response) return;
  const forms = '{ decision: "approve" }, { decision: "deny", reason } or { decision: "edit", arguments }';
  throw new StateError("INVALID_ARGUMENT", `an approval is answered with ${forms}`);
}
