import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { MAX_ID_BYTES } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type { AnySchema, SchemaOutput } from "../../models/schema.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Interrupt, InterruptAnswer, ThreadTotals } from "../../state/fields.ts";
import { externalCallsIn, unansweredIn } from "../../state/pending.ts";
import type { Subjects } from "../../state/people/subjects.ts";
import { hasBegun, openCallsIn, PARENT_KEY } from "../../state/tool-calls.ts";
import type { RunEvent, RunResult, StopReason } from "../events.ts";
import type { PriceTable } from "../model-call/prices.ts";
import { RunError } from "../run/run-error.ts";
import type { Run } from "../run.ts";
import type { AnswerOptions, RunOptions } from "../run-options.ts";
import { isRefused } from "../saving/refused-results.ts";
import type { CompleteOptions } from "./completing.ts";
import { InterruptSignal } from "./interrupts.ts";
import { Later } from "./later.ts";
import { type Tool, type ToolContext, type ToolOptions, tool } from "./tool.ts";
import { OutcomeUnknown } from "./tool-result.ts";

export interface SubAgentOptions<Schema extends AnySchema = AnySchema>
  extends Pick<
    ToolOptions<Schema>,
    "name" | "description" | "inputSchema" | "needsApproval" | "terminal" | "timeoutMs"
  > {
  /** What the sub-agent is told, made of the call's arguments. @default their `prompt`; with a schema of your own, their JSON */
  prompt?(input: SchemaOutput<Schema>): string;
}

/** What a call of a sub-agent has besides what every tool gets. */
export interface Delegation {
  /** The questions of the sub-agent that were put to people in the caller's thread. */
  readonly asked: readonly Interrupt[];
  /** Where the caller's thread is kept; without it the sub-agent's is not kept either. */
  readonly checkpointer: BaseCheckpointer | undefined;
  /** Who the caller's turn is about: so is the child's. */
  readonly subject: Subjects | undefined;
  readonly emit: (event: RunEvent) => void;
  /** The caller's, for a sub-agent that has no table of its own. */
  readonly prices: PriceTable | undefined;
  /** The outcome of a call that the sub-agent left for later. */
  readonly completed: ChildOutcome | undefined;
  /** What the sub-agent used counts for the run that asked it. */
  readonly countUsage: (run: Pick<RunResult, "usage" | "cost">) => void;
  /** What its thread used since it began: counted with the caller's thread once, when the call is settled. */
  readonly spent: (usage: ThreadUsage) => void;
}

export type ThreadUsage = Partial<Omit<ThreadTotals, "runs" | "iterations" | "toolCalls">>;

/** The outcome of a call in a sub-agent's thread. */
export type ChildOutcome = { readonly toolCallId: string } & (
  | { readonly result: unknown }
  | { readonly error: unknown }
);

/** Why the signal of a tool aborts when its time is up. */
export class TimeIsUp extends Error {
  constructor(ms: number) {
    super(`timed out after ${ms} ms`);
  }
}

export const timedOut = (ms: number | undefined): string =>
  `The tool did not finish within ${ms} ms; it may still take effect.`;

/** How a sub-agent is run: as an agent is, in a thread of the caller's storage. */
export interface SubAgent {
  run(prompt: string | undefined, place: SubAgentPlace): Run<unknown>;
  answer(place: SubAgentPlace, id: string, answer: InterruptAnswer): Run<unknown>;
  complete(place: SubAgentPlace, outcome: ChildOutcome): Run<unknown>;
  /** Settles what is open in its thread, which nothing will go on with. */
  giveUp(place: SubAgentPlace): Promise<void>;
}

export interface SubAgentPlace {
  readonly checkpointer: BaseCheckpointer | undefined;
  readonly threadId: string | undefined;
  readonly runtime: unknown;
  readonly signal: AbortSignal;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly messageId: string;
  readonly subject: Subjects | undefined;
  readonly prices: PriceTable | undefined;
}

/** The sub-agent could not continue, and the call itself is not known to be wrong: it stays open until the caller is resumed. */
export class LeftOpen extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("the sub-agent was left where it is");
    this.cause = cause;
  }
}

/** The options of a run of the child's. */
export const runIn = ({ checkpointer: _, prices: __, threadId, subject, ...place }: SubAgentPlace): RunOptions => ({
  ...place,
  ...(threadId !== undefined && { threadId }),
  ...(subject !== undefined && { subject }),
});

/** The options under which it is given the answer that a person gave in the caller's thread. */
export function answerIn(place: SubAgentPlace, id: string, answer: InterruptAnswer): AnswerOptions {
  const { messageId: _, threadId = "", ...run } = runIn(place);
  const { declined = false, reason, value } = answer;
  return { ...run, threadId, id, ...(declined ? { decline: reason ?? true } : { response: value }) };
}

/** The options under which it is given the outcome of a call that it left for later. */
export function outcomeIn(place: SubAgentPlace, outcome: ChildOutcome): CompleteOptions {
  const { messageId: _, subject: __, threadId = "", ...run } = runIn(place);
  return { ...run, threadId, ...outcome };
}

const PROMPT = {
  type: "object",
  properties: { prompt: { type: "string", description: "What is to be done, with all that is needed to do it." } },
  required: ["prompt"],
  additionalProperties: false,
} as const;

/**
 * An agent as a tool of another. Each call is a conversation of its own, in a child
 * thread whose name follows from the call's key: resuming the caller after a crash
 * finds it, and adds the prompt to it once. What the sub-agent's tools did is in the
 * child's ledger, so the call itself may be repeated: that resumes the child and
 * repeats nothing.
 */
export function subAgentTool(agent: SubAgent, options: SubAgentOptions): Tool {
  const { prompt, inputSchema = PROMPT, ...rest } = options;
  const said = (prompt ?? (options.inputSchema === undefined ? promptOf : JSON.stringify)) as (
    input: unknown,
  ) => string;
  const made = tool({ ...rest, inputSchema, effect: "idempotent", execute: () => undefined });
  return {
    ...made,
    delegate: async (input, context, delegation) => {
      const place = placeOf(context, delegation);
      const ended = await answered(agent, said(input), place, delegation);
      if (ended instanceof InterruptSignal) return ended;
      if (ended.stopReason !== "pending" && openCallsIn(ended.state).length > 0)
        await endInDoubt(agent, ended, place, context, made.timeoutMs);
      return asOutcome(ended, context.toolCallId, place, delegation);
    },
  };
}

/**
 * The child was ended in the middle of a call and will not be resumed. If the caller itself was
 * cancelled, the call stays open instead, and so does the child's.
 */
async function endInDoubt(
  agent: SubAgent,
  { state }: RunResult,
  place: SubAgentPlace,
  { signal }: ToolContext,
  timeoutMs: number | undefined,
): Promise<void> {
  const isTimeUp = signal.reason instanceof TimeIsUp;
  if (signal.aborted && !isTimeUp) return;
  const isInDoubt = openCallsIn(state).some(({ execution }) => execution === undefined || hasBegun(execution));
  await agent.giveUp(place);
  if (isTimeUp) throw new OutcomeUnknown(timedOut(timeoutMs));
  if (isInDoubt) throw new OutcomeUnknown("The sub-agent was ended in the middle of a call; it may have taken effect.");
}

const promptOf = (input: unknown): string => (input as { readonly prompt: string }).prompt;

function placeOf(context: ToolContext, { checkpointer, subject, prices }: Delegation): SubAgentPlace {
  const { threadId: parent, idempotencyKey, toolCallId, signal } = context;
  // A title is of one thread.
  const { title: _, ...metadata } = context.metadata;
  const isKept = parent !== undefined && checkpointer !== undefined;
  return {
    checkpointer,
    threadId: isKept ? childThreadId(parent, idempotencyKey) : undefined,
    runtime: context.runtime,
    signal,
    messageId: idempotencyKey,
    subject,
    prices,
    metadata: isKept ? { ...metadata, [PARENT_KEY]: { threadId: parent, toolCallId } } : metadata,
  };
}

/** Under the caller's own id, so that a prefix finds the family; where that would be too long, by the key alone. */
export function childThreadId(parent: string, idempotencyKey: string): string {
  const id = `${parent}/${idempotencyKey}`;
  return Buffer.byteLength(id) <= MAX_ID_BYTES ? id : `sub-agents/${idempotencyKey}`;
}

/** Brings the answers that people gave in the caller's thread to the child, one by one, and runs it as far as it goes. */
async function answered(
  agent: SubAgent,
  prompt: string,
  place: SubAgentPlace,
  delegation: Delegation,
): Promise<RunResult | InterruptSignal> {
  for (const asked of delegation.asked) {
    const { child, answer } = asked;
    if (child === undefined || answer === undefined || !(await waits(place, child.interruptId))) continue;
    try {
      const result = await followed(() => agent.answer(place, child.interruptId, answer), delegation);
      if (unansweredIn(result.state).length === 0) return result;
    } catch (error) {
      if (StateError.is(error, "INVALID_ARGUMENT")) return new InterruptSignal([askedAgain(asked, error.message)]);
      // A save of a process that died may land this late. Then the answer is there, and the child is resumed with
      // it.
      if (isConflict(error) && !(await waits(place, child.interruptId))) continue;
      throw error;
    }
  }
  const { completed } = delegation;
  return followed(
    () => (completed === undefined ? agent.run(prompt, place) : agent.complete(place, completed)),
    delegation,
  );
}

const isConflict = (error: unknown): boolean => error instanceof LeftOpen && StateError.is(error.cause, "CONFLICT");

/** What the child's model could not do, or said and the storage refuses for ever, is the call's failure; trouble with its storage, or a process that ends, is not. */
async function followed(begin: () => Run<unknown>, { emit, countUsage, spent }: Delegation): Promise<RunResult> {
  try {
    const run = begin();
    for await (const event of run) emit(event);
    const result = await run;
    countUsage(result);
    spent(usageOf(result.state));
    if (result.stopReason === "drained") throw new LeftOpen(new StateError("CLOSED", "the sub-agent is draining"));
    return result;
  } catch (error) {
    if (error instanceof RunError) {
      countUsage(error);
      spent(usageOf(error.state));
    }
    const isItsOwn = !StateError.is(error) || error.code === "MODEL_FAILED" || isRefused(error);
    if (isItsOwn) throw error;
    throw new LeftOpen(error);
  }
}

function usageOf({ totals }: AgentState): ThreadUsage {
  const { runs: _, iterations: __, toolCalls: ___, ...usage } = totals;
  return usage;
}

/** A crash may have come between the child's save and the caller's: an answer is given once. */
async function waits({ checkpointer, threadId }: SubAgentPlace, interruptId: string): Promise<boolean> {
  if (checkpointer === undefined || threadId === undefined) return false;
  const state = await loadState(checkpointer, threadId);
  return state?.interrupts.some(({ id, answer }) => id === interruptId && answer === undefined) ?? false;
}

function askedAgain({ answer: _, ...interrupt }: Interrupt, why: string): Interrupt {
  return { ...interrupt, question: `${interrupt.question} (The last answer was not taken: ${why})` };
}

/** The child's end as the end of the call; its questions become the caller's. */
function asOutcome(
  { stopReason, text, output, state }: RunResult,
  toolCallId: string,
  { threadId = "" }: SubAgentPlace,
  { asked }: Delegation,
): unknown {
  if (stopReason === "complete" || stopReason === "terminal-tool") return output ?? text;
  const unanswered = unansweredIn(state);
  if (stopReason === "pending" && unanswered.length > 0) {
    const surfaced = unanswered.map((interrupt): Interrupt => {
      const id = `${toolCallId}/${interrupt.id}`;
      const known = asked.find((one) => one.id === id && one.answer === undefined);
      return known ?? { ...interrupt, id, toolCallId, child: { threadId, interruptId: interrupt.id } };
    });
    return new InterruptSignal(surfaced);
  }
  if (stopReason === "pending") {
    const awaited = externalCallsIn(state);
    const due = Math.min(...awaited.map(({ dueAt = Number.POSITIVE_INFINITY }) => dueAt));
    const waitsFor = awaited.map(({ toolCallId: id, toolName, idempotencyKey, dueAt }) => ({
      toolCallId: `${toolCallId}/${id}`,
      toolName,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(dueAt !== undefined && { dueAt }),
    }));
    return new Later(Number.isFinite(due) ? due : undefined, waitsFor);
  }
  throw new Error(endedEarly(stopReason, text));
}

const endedEarly = (stopReason: StopReason, text: string): string =>
  `The sub-agent ended as ${JSON.stringify(stopReason)}${text === "" ? "." : `. Its last words: ${text}`}`;
