import { sleep } from "../internal/sleep.ts";
import type { ToolCall } from "../state/message.ts";
import type { ToolExecution } from "../state/state-fields.ts";
import { runAfter } from "./hooks.ts";
import { type Approval, askPerson, InterruptSignal } from "./interrupts.ts";
import { argumentsHash, earlierSuccess, type LedgerCall } from "./ledger.ts";
import type { RunContext } from "./run-context.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { failure, type Outcome, settle, success } from "./tool-result.ts";

/**
 * Brings one call to its end, from wherever the ledger says it stands: decides
 * whether it may run, claims the attempt, runs it, and makes the outcome durable.
 * Leaves it open when a person must answer first or the run was cancelled.
 */
export async function runCall(context: RunContext, ledgerCall: LedgerCall): Promise<void> {
  const { parts, session, emit } = context;
  const prepared = await prepare(context, ledgerCall);
  if (prepared === "waiting") return;
  if ("outcome" in prepared) return close(context, ledgerCall, prepared.outcome);
  const { tool, input, call } = prepared;
  const started = await claim(context, { call, execution: ledgerCall.execution }, tool);
  await parts.hooks.beforeTool?.({ call, execution: started });
  emit({
    type: "tool-start",
    toolCallId: call.id,
    toolName: call.name,
    arguments: input,
    attempt: started.attempts ?? 1,
  });
  const outcome = await parts.telemetry.span("tool", { "holdfast.tool": tool.name }, () =>
    attempt(context, tool, input, call, started),
  );
  if (outcome === "cancelled") return;
  const isEdited = call !== ledgerCall.call;
  if (outcome instanceof InterruptSignal) {
    session.change((state) =>
      state.withInterrupt(outcome.interrupt).withToolExecution({ ...started, status: "waiting" }),
    );
    await session.save();
    emit({ type: "interrupt", interrupt: outcome.interrupt });
    return;
  }
  await close(context, { call, execution: started }, isEdited ? told(outcome, call) : outcome, tool);
}

/** The conversation shows what the model asked for, so the result says what was done instead. */
const told = ({ status, content }: Outcome, call: ToolCall): Outcome => ({
  status,
  content: `A person changed the arguments to ${JSON.stringify(call.arguments)}. ${content}`,
});

type Prepared =
  | "waiting"
  | { readonly outcome: Outcome }
  | { readonly tool: Tool; readonly input: unknown; readonly call: ToolCall };

async function prepare(context: RunContext, ledgerCall: LedgerCall): Promise<Prepared> {
  const { parts, session } = context;
  const { execution } = ledgerCall;
  const answered = approvalOf(context, execution);
  if (answered?.decision === "deny") {
    const reason = answered.reason === undefined ? "" : ` The reason: ${answered.reason}`;
    return { outcome: { status: "denied", content: `A person refused this call.${reason}` } };
  }
  const call = answered?.decision === "edit" ? { ...ledgerCall.call, arguments: answered.arguments } : ledgerCall.call;
  const tool = parts.tools.get(call.name);
  if (tool === undefined) return { outcome: failure(unknownTool(call, parts.tools)) };
  if (call.invalid !== undefined) return { outcome: failure(`${call.invalid}. Call the tool again with valid JSON.`) };
  if (answered?.decision !== "edit" && execution.argumentsHash !== argumentsHash(call)) {
    return { outcome: failure("The call was changed after it was recorded, so it was not run.") };
  }
  const checked = await tool.schema.check(call.arguments);
  if ("faults" in checked) return { outcome: failure(`The arguments do not fit: ${checked.faults.join("; ")}`) };
  const input = checked.value;
  const earlier = tool.dedupe ? earlierSuccess(session.state, ledgerCall) : undefined;
  const known =
    earlier &&
    session.state.messages.find((message) => message.role === "tool" && message.toolCallId === earlier.toolCallId);
  if (known !== undefined) return { outcome: { status: "succeeded", content: known.content as string } };
  if (execution.status === "waiting" && hasOpenQuestion(context, execution)) return "waiting";
  if (execution.status === "started") return afterCrash(context, tool, input, call, execution);
  if (answered === undefined && execution.status === "intended" && (await tool.needsApproval(input))) {
    return askForApproval(context, call, execution);
  }
  return { tool, input, call };
}

/** Begun in another life and never settled: what the tool's effect allows. */
async function afterCrash(
  context: RunContext,
  tool: Tool,
  input: unknown,
  call: ToolCall,
  execution: ToolExecution,
): Promise<Prepared> {
  if (tool.effect !== "atMostOnce") return { tool, input, call };
  const verified = await tool.verify?.(input, toolContext(context, call, execution, context.signal));
  if (verified?.outcome === "done") return { outcome: success(verified.result) };
  if (verified?.outcome === "not-done") return { tool, input, call };
  const content =
    "This call was begun and then cut off; its outcome is unknown. It may have taken effect: verify before repeating it.";
  return { outcome: { status: "unknown", content } };
}

async function askForApproval(context: RunContext, call: ToolCall, execution: ToolExecution): Promise<"waiting"> {
  const interrupt = {
    id: `${call.id}/approval`,
    toolCallId: call.id,
    kind: "approval" as const,
    question: `May ${call.name} be called with ${JSON.stringify(call.arguments)}?`,
    askedAt: context.parts.now(),
  };
  context.session.change((state) =>
    state.withInterrupt(interrupt).withToolExecution({ ...execution, status: "waiting" }),
  );
  await context.session.save();
  context.emit({ type: "interrupt", interrupt });
  return "waiting";
}

function approvalOf({ session }: RunContext, execution: ToolExecution): Approval | undefined {
  const id = `${execution.toolCallId}/approval`;
  return session.state.interrupts.find((interrupt) => interrupt.id === id)?.answer?.value as Approval | undefined;
}

const hasOpenQuestion = ({ session }: RunContext, execution: ToolExecution): boolean =>
  session.state.interrupts.some(
    (interrupt) => interrupt.toolCallId === execution.toolCallId && interrupt.answer === undefined,
  );

/** Whoever gets this saved owns the attempt: a second process that resumes the same thread is refused here. */
async function claim(context: RunContext, { execution }: LedgerCall, tool: Tool): Promise<ToolExecution> {
  const { session, parts } = context;
  const attempts = (execution.attempts ?? 0) + 1;
  const started: ToolExecution = { ...execution, status: "started", attempts, startedAt: parts.now() };
  if (tool.effect === "pure") return started;
  session.change((state) => state.withToolExecution(started));
  await session.save();
  return started;
}

async function attempt(
  context: RunContext,
  tool: Tool,
  input: unknown,
  call: ToolCall,
  execution: ToolExecution,
): Promise<Outcome | InterruptSignal | "cancelled"> {
  const ended = new AbortController();
  const timeUp = new AbortController();
  const signal = AbortSignal.any([context.signal, timeUp.signal]);
  const work = (async () => tool.execute(input, toolContext(context, call, execution, signal)))();
  try {
    const stops = [whenCancelled(context.signal, ended.signal), whenTimeIsUp(tool, timeUp, ended.signal)];
    const result = await Promise.race([work, ...stops]);
    return result === CANCELLED ? "cancelled" : success(result);
  } catch (error) {
    if (error instanceof InterruptSignal) return error;
    if (context.signal.aborted) return "cancelled";
    return failure(error instanceof Error ? error.message || error.name : String(error));
  } finally {
    ended.abort();
    work.catch(() => undefined);
  }
}

const CANCELLED = Symbol("cancelled");
/** A tool that heeds the signal gets this long to say how it ended before its outcome counts as unknown. */
const GRACE_MS = 250;

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

function whenTimeIsUp({ timeoutMs }: Tool, timeUp: AbortController, ended: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (timeoutMs === undefined) return;
    const onTime = (): void => {
      const error = new Error(`The tool did not finish within ${timeoutMs} ms; it may still take effect.`);
      timeUp.abort(error);
      reject(error);
    };
    sleep(timeoutMs, ended).then(onTime, () => undefined);
  });
}

function toolContext(context: RunContext, call: ToolCall, execution: ToolExecution, signal: AbortSignal): ToolContext {
  let asked = 0;
  return {
    toolCallId: call.id,
    idempotencyKey: execution.idempotencyKey ?? call.id,
    attempt: execution.attempts ?? 1,
    threadId: context.threadId,
    signal,
    metadata: context.metadata,
    interrupt: async (request) => askPerson(context.session.state, call.id, ++asked, request, context.parts.now()),
  };
}

/** Makes an outcome durable: on its own, without waiting for the other calls of the same turn. */
async function close(
  context: RunContext,
  { call, execution }: LedgerCall,
  outcome: Outcome,
  tool: Tool | undefined = context.parts.tools.get(call.name),
): Promise<void> {
  const { parts, session, emit } = context;
  const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
  session.change((state) => settle(state, call, execution, outcome, options));
  if (tool?.effect !== "pure" || parts.saveEvery === 1) await session.save();
  emit({ type: "tool-end", toolCallId: call.id, toolName: call.name, status: outcome.status });
  const message = session.state.messages.findLast((entry) => entry.role === "tool" && entry.toolCallId === call.id);
  if (message !== undefined) emit({ type: "message", message });
  await runAfter(parts.hooks, "afterTool", { call, execution: { ...execution, status: outcome.status } }, emit);
}

const unknownTool = (call: ToolCall, tools: ReadonlyMap<string, Tool>): string =>
  `There is no tool named ${JSON.stringify(call.name)}. Available: ${[...tools.keys()].join(", ") || "none"}.`;
