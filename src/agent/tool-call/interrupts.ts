import { StateError } from "../../errors.ts";
import { readySchema } from "../../models/schema.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Interrupt, InterruptAnswer, ToolExecution } from "../../state/fields.ts";
import { pendingIn, unansweredIn } from "../../state/pending.ts";
import { canonicalJson } from "../../state/values/codec.ts";
import type { PersonQuestion, Tool } from "./tool.ts";

/** Ends an attempt. A class of our own that data cannot make: no tool output is ever read as one. */
export class InterruptSignal {
  readonly interrupts: readonly Interrupt[];

  constructor(interrupts: readonly Interrupt[]) {
    this.interrupts = interrupts;
  }

  waitingIn(state: AgentState, started: ToolExecution): AgentState {
    const asked = this.interrupts.reduce((next, interrupt) => next.withInterrupt(interrupt), state);
    return asked.withToolExecution({ ...started, status: "waiting" });
  }
}

/** The id of the question whether a call may be made. */
export const approvalIdOf = (toolCallId: string): string => `${toolCallId}/approval`;

/** The request for approval of this call, where a person refused it. */
export const deniedApproval = (
  { interrupts }: Pick<AgentState, "interrupts">,
  toolCallId: string,
): Interrupt | undefined =>
  interrupts.find(
    ({ id, answer }) => id === approvalIdOf(toolCallId) && (answer?.value as Approval | undefined)?.decision === "deny",
  );

/** How a person answers a tool that needs approval. */
export type Approval =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason?: string }
  | { readonly decision: "edit"; readonly arguments: unknown };

/** How often each question was asked in one attempt at a call. */
export type AskedSoFar = Map<string, number>;

/**
 * The answer to a question of a call, or the signal that ends the attempt where
 * there is none yet. An answer is given to the question that it answers and to
 * no other, also when the tool was changed meanwhile and asks something else
 * first; the same question asked twice has two answers.
 */
export function askPerson(
  state: AgentState,
  toolCallId: string,
  asked: AskedSoFar,
  { question, schema: given, key }: PersonQuestion,
  now: number,
): { readonly value: unknown } | InterruptSignal {
  const schema = given === undefined ? undefined : readySchema(given, "interrupt schema").jsonSchema;
  const wanted = identityOf({ question, schema, key });
  const count = asked.get(wanted) ?? 0;
  asked.set(wanted, count + 1);
  const ofCall = state.interrupts.filter((one) => one.toolCallId === toolCallId && one.kind === "question");
  const known = ofCall.filter((one) => identityOf(one) === wanted)[count];
  if (known?.answer !== undefined) return { value: known.answer.value };
  const fresh: Interrupt = {
    id: `${toolCallId}/${ofCall.length + 1}`,
    toolCallId,
    kind: "question",
    question,
    askedAt: now,
    ...(schema !== undefined && { schema }),
    ...(key !== undefined && { key }),
  };
  return new InterruptSignal([known ?? fresh]);
}

const identityOf = ({ question, schema, key }: Pick<Interrupt, "question"> & Questioned): string =>
  key === undefined ? canonicalJson([question, schema ?? null]) : canonicalJson([key]);

interface Questioned {
  readonly schema?: Interrupt["schema"] | undefined;
  readonly key?: string | undefined;
}

/** A person's answer: the requested value, or a refusal to answer. */
export type PersonAnswer = ({ readonly value: unknown } | { readonly declined: true; readonly reason?: string }) & {
  readonly by?: string;
};

/** Every question that waits, declined. */
export function declineQuestions(state: AgentState, reason: string | undefined, now: number): AgentState {
  let next = state;
  for (const interrupt of unansweredIn(state)) next = next.withInterrupt(declined(interrupt, reason, now));
  return next;
}

/** A request for approval that is declined is denied. */
function declined(
  interrupt: Interrupt,
  reason: string | undefined,
  now: number,
  who: Pick<InterruptAnswer, "by"> = {},
): Interrupt {
  const why = reason === undefined ? {} : { reason };
  if (interrupt.kind === "approval")
    return { ...interrupt, answer: { value: { decision: "deny", ...why }, at: now, ...who } };
  return { ...interrupt, answer: { value: undefined, at: now, declined: true, ...why, ...who } };
}

/** Writes a person's answer into the state. Only a question that waits can be answered, and only once. */
export async function answerInterrupt(
  state: AgentState,
  interruptId: string,
  given: PersonAnswer,
  { now, tools }: { readonly now: number; readonly tools: ReadonlyMap<string, Tool> },
): Promise<AgentState> {
  const interrupt = state.interrupts.find(({ id }) => id === interruptId);
  if (interrupt === undefined) {
    const waiting = pendingIn(state).map(({ id }) => id);
    const which = waiting.length === 0 ? "nothing waits" : `waiting are ${waiting.join(", ")}`;
    throw new StateError("NOT_FOUND", `nothing waits under ${JSON.stringify(interruptId)} in this thread; ${which}`);
  }
  if (interrupt.answer !== undefined) {
    const when = new Date(interrupt.answer.at).toISOString();
    throw new StateError("CONFLICT", `${JSON.stringify(interruptId)} was answered already, at ${when}`);
  }
  const who = given.by === undefined ? {} : { by: given.by };
  if ("declined" in given) return state.withInterrupt(declined(interrupt, given.reason, now, who));
  const { value } = given;
  if (interrupt.kind === "approval") {
    assertApproval(value);
    // What a sub-agent's tool takes is for the sub-agent to check.
    if (value.decision === "edit" && interrupt.child === undefined)
      await assertEdit(state, interrupt, value.arguments, tools);
  } else if (interrupt.schema !== undefined) {
    const checked = await readySchema(interrupt.schema, "interrupt schema").check(value);
    if ("faults" in checked) throw misfit("the answer does not fit the question's schema", checked.faults);
  }
  return state.withInterrupt({ ...interrupt, answer: { value, at: now, ...who } });
}

/** The editor is still there to be told; the model did not write these arguments. */
async function assertEdit(
  { toolExecutions }: AgentState,
  { toolCallId }: Interrupt,
  edited: unknown,
  tools: ReadonlyMap<string, Tool>,
): Promise<void> {
  const name = toolExecutions.findLast((entry) => entry.toolCallId === toolCallId)?.toolName ?? "";
  const checked = await tools.get(name)?.schema.check(edited);
  if (checked !== undefined && "faults" in checked) throw misfit(`the arguments do not fit ${name}`, checked.faults);
}

const misfit = (what: string, faults: readonly string[]): StateError =>
  new StateError("INVALID_ARGUMENT", `${what}: ${faults.join("; ")}. It still waits for an answer`);

function assertApproval(response: unknown): asserts response is Approval {
  const { decision } = (response ?? {}) as { decision?: unknown };
  if (decision === "approve" || decision === "deny") return;
  if (decision === "edit" && typeof response === "object" && response !== null && "arguments" in response) return;
  const forms = '{ decision: "approve" }, { decision: "deny", reason } or { decision: "edit", arguments }';
  throw new StateError("INVALID_ARGUMENT", `an approval is answered with ${forms}`);
}
