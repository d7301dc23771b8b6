import { reasonOf } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { ToolExecution } from "../../state/fields.ts";
import type { Message, ToolCall } from "../../state/message.ts";
import type { RunContext } from "../run/run-context.ts";
import { subjectIn } from "../run/run-subject.ts";
import { type AskedSoFar, askPerson, InterruptSignal } from "./interrupts.ts";
import { Later } from "./later.ts";
import { type Delegation, LeftOpen, type ThreadUsage, TimeIsUp, timedOut } from "./sub-agent.ts";
import type { CallPlace, Tool, ToolContext } from "./tool.ts";
import { failure, type Outcome, OutcomeUnknown, success } from "./tool-result.ts";

/** Runs a tool once: until it ends, asks a person, runs out of time, or the run is cancelled. */
export async function attempt(
  context: RunContext,
  tool: Tool,
  input: unknown,
  call: ToolCall,
  execution: ToolExecution,
): Promise<Outcome | InterruptSignal | Later | "cancelled"> {
  const ended = new AbortController();
  const timeUp = new AbortController();
  const signal = AbortSignal.any([context.signal, timeUp.signal]);
  let raise: (question: InterruptSignal) => void = () => undefined;
  const asked = new Promise<InterruptSignal>((resolve) => {
    raise = resolve;
  });
  const place = toolContext(context, call, execution, signal, raise);
  let used: ThreadUsage | undefined;
  const spent = (usage: ThreadUsage): void => {
    used = usage;
  };
  const withUsage = (outcome: Outcome): Outcome => (used === undefined ? outcome : { ...outcome, used });
  const work = (async () =>
    tool.delegate === undefined
      ? tool.execute(input, place)
      : tool.delegate(input, place, delegationOf(context, tool, call, spent)))();
  try {
    const stops = [asked, whenCancelled(context.signal, ended.signal), whenTimeIsUp(tool, timeUp, ended.signal)];
    const result = await Promise.race([work, ...stops]);
    if (result instanceof InterruptSignal || result instanceof Later) return result;
    if (result === TIME_IS_UP) return withUsage(outOfTime(tool));
    return result === CANCELLED ? "cancelled" : withUsage({ ...success(result), returned: result });
  } catch (thrown) {
    const error = anyThrown(thrown);
    if (error instanceof LeftOpen && !context.signal.aborted) throw error.cause;
    if (context.signal.aborted) return "cancelled";
    if (!(error instanceof OutcomeUnknown)) return withUsage(failure(reasonOf(error)));
    return withUsage({ status: statusInDoubt(tool), content: reasonOf(error) });
  } finally {
    ended.abort();
    work.catch(() => undefined);
  }
}

/** What was thrown; where it cannot even be looked at, as a revoked Proxy cannot, an error in its place. */
function anyThrown(thrown: unknown): unknown {
  try {
    Object.getPrototypeOf(Object(thrown));
    return thrown;
  } catch {
    return new Error(reasonOf(thrown));
  }
}

const CANCELLED = Symbol("cancelled");
const TIME_IS_UP = Symbol("time is up");

/** A sub-agent's call may be repeated while its thread can be resumed, and is in doubt once that was ended. */
const statusInDoubt = ({ effect, delegate }: Tool): "unknown" | "failed" =>
  effect === "atMostOnce" || delegate !== undefined ? "unknown" : "failed";

/** A tool that ignores the signal cannot be stopped: one that may act once may still do so. */
const outOfTime = (tool: Tool): Outcome => ({ status: statusInDoubt(tool), content: timedOut(tool.timeoutMs) });

/** A tool that heeds the signal gets this long to say how it ended before its outcome counts as unknown. */
const GRACE_MS = 250;
/** A sub-agent gets this long to write down how far it came. */
const SUB_AGENTS_GRACE_MS = 10_000;

/** Settles some time after the run was cancelled; listens no longer once the attempt has ended. */
function whenCancelled(cancelled: AbortSignal, ended: AbortSignal): Promise<typeof CANCELLED> {
  return new Promise((resolve) => {
    const onCancel = (): void =>
      void sleep(GRACE_MS, ended).then(
        () => resolve(CANCELLED),
        () => undefined,
      );
    if (cancelled.aborted) return onCancel();
    cancelled.addEventListener("abort", onCancel, { once: true });
    ended.addEventListener("abort", () => cancelled.removeEventListener("abort", onCancel), { once: true });
  });
}

function whenTimeIsUp(
  { timeoutMs, delegate }: Tool,
  timeUp: AbortController,
  ended: AbortSignal,
): Promise<typeof TIME_IS_UP> {
  return new Promise((resolve) => {
    if (timeoutMs === undefined) return;
    const onTime = (): void => {
      timeUp.abort(new TimeIsUp(timeoutMs));
      const giveUp = (): void => resolve(TIME_IS_UP);
      if (delegate === undefined) giveUp();
      else sleep(SUB_AGENTS_GRACE_MS, ended).then(giveUp, () => undefined);
    };
    sleep(timeoutMs, ended).then(onTime, () => undefined);
  });
}

function delegationOf(context: RunContext, { name }: Tool, { id }: ToolCall, spent: Delegation["spent"]): Delegation {
  const { session, checkpointer, limits, emit, isKept } = context;
  const { interrupts } = session.state;
  return {
    asked: interrupts.filter((interrupt) => interrupt.toolCallId === id),
    checkpointer: isKept ? checkpointer : undefined,
    subject: subjectIn(session.state),
    emit: (event) => emit({ type: "sub-agent", toolCallId: id, toolName: name, event }),
    prices: context.parts.prices,
    completed: context.handedDown.get(id),
    spent,
    countUsage: ({ usage, cost }) => {
      limits.countUsage(usage);
      limits.countCost(cost);
    },
  };
}

/** What decides about a call is told of it. */
export const callPlace = (context: RunContext, call: ToolCall): CallPlace => ({
  toolCallId: call.id,
  threadId: context.threadId,
  metadata: context.metadata,
  runtime: context.runtime,
  get messages() {
    return messagesBefore(context, call);
  },
});

function messagesBefore({ session }: RunContext, { id }: ToolCall): readonly Message[] {
  const { messages } = session.state;
  const at = messages.findLastIndex(
    (message) => message.role === "assistant" && message.toolCalls?.some((call) => call.id === id) === true,
  );
  return messages.slice(0, Math.max(at, 0));
}

export function toolContext(
  context: RunContext,
  call: ToolCall,
  execution: ToolExecution,
  signal: AbortSignal,
  raise: (question: InterruptSignal) => void,
): ToolContext {
  const asked: AskedSoFar = new Map();
  return {
    toolCallId: call.id,
    threadId: context.threadId,
    metadata: context.metadata,
    runtime: context.runtime,
    // Made when it is asked for: a conversation may be long.
    get messages() {
      return messagesBefore(context, call);
    },
    idempotencyKey: execution.idempotencyKey ?? call.id,
    attempt: execution.attempts ?? 1,
    signal,
    subject: subjectIn(context.session.state),
    session: context.task,
    progress: (progress) => context.emit({ type: "tool-progress", toolCallId: call.id, toolName: call.name, progress }),
    later: <Result>(options = {}) => Later.after<Result>(options, context.parts.now()),
    // Never settles until it is answered: a tool that catches everything must not continue as if it had been.
    interrupt: (request) => {
      const answer = askPerson(context.session.state, call.id, asked, request, context.parts.now());
      if (!(answer instanceof InterruptSignal)) return Promise.resolve(answer.value);
      raise(answer);
      return new Promise(() => undefined);
    },
  };
}
