import { CoreAgent } from "../../src/agent/agent.ts";
import type { RunResult } from "../../src/agent/events.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";
import { asProcessOfItsOwn } from "../agent/stored-thread.ts";
import { ANSWER, LATER_ANSWER, LATER_PROMPT, PROMPT, partsOf, resultFor, type Story, type World } from "./story.ts";

/** What a process does that finds a thread which another one left behind. */
export const RETURNS = ["go on", "say the same again", "say something new"] as const;
export type Return = (typeof RETURNS)[number];

export interface Life {
  readonly story: Story;
  readonly world: World;
  readonly log: ThreadLog;
  readonly threadId: string;
  /** Among processes that are all in this one, which of them it is and which are dead. Without it, it is this one. */
  readonly process?: { readonly number: number; readonly dead: ReadonlySet<string> };
  /** Prompts have ids: needed where the answer to one may arrive while it is said again. */
  readonly hasIds?: boolean;
  /** Called with each checkpoint that the agent announced. */
  readonly onSaved?: (checkpointId: string) => void;
}

/**
 * One process: looks at the thread as an application does, says what is left to
 * say, and answers questions, until the user has all the answers.
 */
export async function live(life: Life, back: Return): Promise<void> {
  const { threadId } = life;
  const checkpointer = new Checkpointer(life.log);
  if (life.process !== undefined) asProcessOfItsOwn(checkpointer, life.process.dead, life.process.number - 1);
  const { model, ...parts } = partsOf(life.story, life.world);
  const agent = new CoreAgent({ ...parts, model: async () => model, checkpointer: async () => checkpointer });
  const state = await checkpointer.load(threadId);
  if (!hasSaid(state, PROMPT)) await answered(agent, life, PROMPT);
  else if (!hasEnded(state)) {
    if (back === "say something new" && !hasSaid(state, LATER_PROMPT)) return answered(agent, life, LATER_PROMPT);
    await answered(agent, life, back === "say the same again" ? lastPrompt(state) : undefined, false);
  }
  // With an id it is answered once, however often it is said; what a dead process said may arrive at any moment.
  if (
    back === "say something new" &&
    (life.hasIds === true || !hasSaid(await checkpointer.load(threadId), LATER_PROMPT))
  ) {
    await answered(agent, life, LATER_PROMPT);
  }
}

const said = (state: AgentState | undefined, role: string): readonly string[] =>
  (state?.messages ?? []).filter((message) => message.role === role).map(textOf);

const hasSaid = (state: AgentState | undefined, prompt: string): boolean => said(state, "user").includes(prompt);

const lastPrompt = (state: AgentState | undefined): string | undefined => said(state, "user").at(-1);

/** Whether the last thing in the thread is the answer to the last thing the user said. */
function hasEnded(state: AgentState | undefined): boolean {
  const last = state?.messages.at(-1);
  return last?.role === "assistant" && textOf(last) === (lastPrompt(state) === PROMPT ? ANSWER : LATER_ANSWER);
}

/** Runs until the model has answered, and answers every question that is asked on the way. */
async function answered(agent: CoreAgent, life: Life, prompt: string | undefined, isNew = true): Promise<void> {
  let result: RunResult;
  try {
    // A signal of its own, so that runs that are never heard of again leave nothing behind on a shared one.
    const { signal } = new AbortController();
    const id = life.hasIds === true && prompt !== undefined ? { messageId: prompt } : {};
    result = await followed(agent.run(prompt, { threadId: life.threadId, signal, ...id }), life, prompt);
  } catch (error) {
    if (!StateError.is(error, "PENDING")) throw error;
    // A person must be asked first, or bring an outcome. New words are then said again; words from before have been
    // answered by then.
    const { signal } = new AbortController();
    result = await followed(agent.run(undefined, { threadId: life.threadId, signal }), life);
    if (isNew) {
      await settleQuestions(agent, life, result);
      return answered(agent, life, prompt);
    }
  }
  result = await settleQuestions(agent, life, result);
  if (result.stopReason !== "complete") throw new Error(`the run ended as ${result.stopReason}`);
}

async function settleQuestions(agent: CoreAgent, life: Life, asked: RunResult): Promise<RunResult> {
  let result = asked;
  for (let count = 0; result.stopReason === "pending"; count++) {
    const first = result.pending.find(({ kind }) => kind !== "external");
    const left = result.pending.find(({ kind, isInDoubt }) => kind === "external" && isInDoubt !== true);
    if (count > 50) throw new Error(`${result.stopReason}, again and again`);
    if (first !== undefined) result = await resume(agent, life, first.id);
    else if (left !== undefined) result = await complete(agent, life, left.toolCallId);
    else throw new Error(`${result.stopReason}, but nothing can be answered`);
  }
  return result;
}

/** A worker outside did what the tool began, and reports it; twice, as a queue does. */
async function complete(agent: CoreAgent, life: Life, toolCallId: string): Promise<RunResult> {
  const { threadId, world } = life;
  await world.point("outcome arrives");
  const effect = world.effects.all().find((entry) => entry.toolCallId === toolCallId);
  if (effect === undefined) world.faults.push(`call ${toolCallId} is pending although its tool did not act`);
  const outcome = { threadId, toolCallId, result: resultFor(effect?.n ?? 0) };
  const first = await followed(agent.complete({ ...outcome, signal: new AbortController().signal }), life);
  if (first.stopReason === "complete") {
    return followed(agent.complete({ ...outcome, signal: new AbortController().signal }), life);
  }
  return first;
}

async function resume(agent: CoreAgent, life: Life, interruptId: string): Promise<RunResult> {
  life.world.told.answered.add(interruptId);
  const response = interruptId.endsWith("/approval") ? { decision: "approve" } : "yes";
  const { signal } = new AbortController();
  try {
    return await followed(agent.answer({ threadId: life.threadId, id: interruptId, response, signal }), life);
  } catch (error) {
    // The answer that a dead process was given may arrive late: then the person is told, and the run continues.
    if (life.hasIds !== true || !StateError.is(error, "CONFLICT")) throw error;
    return followed(agent.run(undefined, { threadId: life.threadId, signal }), life);
  }
}

async function followed(
  run: ReturnType<CoreAgent["run"]>,
  { onSaved, world: { told } }: Life,
  prompt?: string,
): Promise<RunResult> {
  for await (const event of run) {
    if (event.type === "checkpoint-saved") onSaved?.(event.checkpointId);
    if (event.type === "pending" && event.call.kind !== "external") told.questions.add(event.call.id);
    if (event.type === "message") told.messages.add(`${event.message.role}: ${textOf(event.message)}`);
    if (prompt !== undefined && event.type === "model-delta") told.heard.add(prompt);
  }
  return run;
}
