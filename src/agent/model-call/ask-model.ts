import { reasonOf, StateError } from "../../errors.ts";
import { redact, redactCause } from "../../internal/redact.ts";
import { AnswerCollector, type ModelAnswer, type RequestedToolCall } from "../../models/collect-answer.ts";
import { heeding } from "../../models/heeding.ts";
import { type FinishReason, type ModelUsage, NO_USAGE } from "../../models/model.ts";
import { ModelError } from "../../models/model-error.ts";
import { parseToolArguments } from "../../models/tool-arguments.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { callAt } from "../../state/call-facts.ts";
import { type AssistantMessage, type ToolCall, textOf } from "../../state/message.ts";
import { subjectOfTurn } from "../../state/people/subjects.ts";
import type { RunEvent } from "../events.ts";
import { guardedAnswer } from "../guards.ts";
import { runAfter } from "../hooks.ts";
import type { RunContext } from "../run/run-context.ts";
import {
  callAttributes,
  finishAttributes,
  modelSpan,
  namesOf,
  OPERATION_DURATION,
  responseAttributes,
  saidAttributes,
  TOKEN_USAGE,
  usageAttributes,
} from "../telemetry/gen-ai.ts";
import { errorType } from "../telemetry/telemetry.ts";
import { intend } from "../tool-call/ledger.ts";
import { unusualFinish, wholeCalls } from "./finish.ts";
import { buildRequest, type ModelQuestion } from "./model-question.ts";
import { costOf } from "./prices.ts";
import { filesToLeaveOut, isAboutTheRequest, rememberRefused, withoutFiles } from "./refused-files.ts";

/**
 * Asks the model once, and makes its message and the intent of every call it asks
 * for part of the state. Nothing where it was cut off before it said anything.
 */
export async function askModel(context: RunContext): Promise<AssistantMessage | undefined> {
  const { parts, session, limits, emit } = context;
  const asked = await buildRequest(context);
  const { model, request } = asked;
  await parts.hooks.beforeModel?.({ request });
  if (model.runsTools === true) await session.durable();
  const { usage, finishReason, cost, ...collected } = await measured(context, asked, () => answerTo(context, asked));
  const message = await passed(context, collected);
  // An answer that was cut off because a save failed is discarded; one that was complete by then is kept.
  if (message.incomplete === true) session.throwIfFailed();
  limits.countUsage(usage);
  limits.countCost(cost);
  await context.prompt.observe(context, request, usage);
  if (message.incomplete === true && message.content.length === 0) return undefined;
  // An answer is about the same person as the message that it answers.
  const about = subjectOfTurn(session.state.messages);
  const told = about === undefined ? message : { ...message, metadata: { ...message.metadata, ...about } };
  const named = withUnusedIds(session.state, told);
  session.change((state) =>
    intend(state.withMessage(named), named, parts.tools, context.threadId).withUsage({
      iterations: 1,
      toolCalls: named.toolCalls?.length ?? 0,
      ...usage,
      ...(cost !== undefined && { cost }),
    }),
  );
  // An answer is saved by the code that checks it, calls together with their claims.
  if (named.toolCalls === undefined) session.owe();
  else if (mustSave(context, named)) session.saveBeside({ gathers: true });
  emit({ type: "message", message: named, ...(finishReason !== undefined && { finishReason }) });
  await runAfter(context, "afterModel", { message: named, state: session.state });
  return named;
}

interface Collected {
  /** The model that answered, which may be another than the one that was asked. */
  readonly answeredBy: string;
  readonly response: { readonly model?: string; readonly id?: string };
  readonly message: AssistantMessage;
  /** Words that were not shown yet, because a guard checks the whole answer first. */
  readonly held: readonly RunEvent[];
  readonly usage: ModelUsage;
  readonly finishReason: FinishReason | undefined;
}

/** Where the model refuses the request and older files may be why, it is asked again without those. */
async function answerTo(context: RunContext, asked: ModelQuestion): Promise<Collected> {
  const { session, emit } = context;
  const { model, request } = asked;
  try {
    return await collect(context, asked);
  } catch (error) {
    if (!isAboutTheRequest(error) || context.progress.spoken !== "") throw error;
    for (const digests of filesToLeaveOut(request.messages)) {
      const messages = withoutFiles(request.messages, digests);
      const answer = await collect(context, { ...asked, request: { ...request, messages } }).catch(() => undefined);
      if (answer === undefined) continue;
      session.change((state) => rememberRefused(state, model.id, digests));
      emit({ type: "warning", where: "files", error });
      return answer;
    }
    throw error;
  }
}

async function collect(context: RunContext, { model, request, withheld }: ModelQuestion): Promise<Collected> {
  const collector = new AnswerCollector();
  const isGuarded = context.parts.hooks.guardAnswer !== undefined;
  const held: RunEvent[] = [];
  const show = isGuarded ? (event: RunEvent): void => void held.push(event) : context.emit;
  try {
    for await (const part of heeding(model.stream(request), context.modelSignal)) {
      collector.add(part);
      if (part.type === "text-delta") show({ type: "model-delta", kind: "text", text: part.text });
      if (part.type === "tool-input-delta") {
        const toolCallId = unusedId(context.session.state, part.id);
        show({ type: "tool-input-delta", toolCallId, toolName: part.name, text: part.text });
      }
      if (part.type === "reasoning-delta") show({ type: "model-delta", kind: "reasoning", text: part.text });
    }
  } catch (error) {
    if (!isGuarded) context.progress.spoken = textOf({ role: "assistant", content: collector.answer.content });
    if (!context.modelSignal.aborted) throw StateError.is(error) ? error : modelFailure(error);
  }
  const { answer } = collector;
  const { usage = NO_USAGE, reason: finishReason } = answer.finish ?? {};
  const { answeredBy = model.id, response = {} } = answer.finish ?? {};
  return { message: messageOf(answer, withheld), usage, finishReason, held, answeredBy, response };
}

/** The message as the guard lets it pass, and the words of it that were kept back for that. */
async function passed(
  context: RunContext,
  { message, held }: Pick<Collected, "message" | "held">,
): Promise<AssistantMessage> {
  if (message.content.length === 0 && message.toolCalls === undefined) return message;
  const guarded = await guardedAnswer(context, message);
  const words = textOf(guarded);
  if (guarded === message) for (const event of held) context.emit(event);
  else if (words !== "") context.emit({ type: "model-delta", kind: "text", text: words });
  return guarded;
}

const modelFailure = (error: unknown): ModelError =>
  new ModelError(redact(reasonOf(error)), { retryable: false, cause: redactCause(error) });

/** Calls of an answer that was cut off may be incomplete: they are not kept and not run. */
function messageOf(answer: ModelAnswer, withheld: ReadonlySet<string>): AssistantMessage {
  const { content, finish } = answer;
  if (finish === undefined) return { role: "assistant", content, incomplete: true };
  const toolCalls = wholeCalls(answer.toolCalls, finish.reason);
  const finishReason = unusualFinish(answer, finish.reason);
  return {
    role: "assistant",
    content,
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map((call) => readCall(call, withheld)) }),
    ...(finishReason !== undefined && { finishReason }),
    ...(finish.providerMetadata !== undefined && { providerMetadata: finish.providerMetadata }),
  };
}

function readCall({ argumentsText, ...call }: RequestedToolCall, withheld: ReadonlySet<string>): ToolCall {
  const parsed = parseToolArguments(argumentsText);
  if (!parsed.ok) {
    const invalid = `${parsed.reason}. Call the tool again with valid JSON.`;
    return { ...call, arguments: { unreadable: argumentsText }, invalid };
  }
  const read = { ...call, arguments: parsed.value };
  return withheld.has(call.name) ? { ...read, invalid: `The tool ${call.name} is not offered in this step.` } : read;
}

/** Some providers count calls from one in every turn; the ledger needs a name that was not used in the thread before. */
function withUnusedIds(state: AgentState, message: AssistantMessage): AssistantMessage {
  if (message.toolCalls === undefined) return message;
  const used = new Set<string>();
  const toolCalls = message.toolCalls.map((call) => {
    const id = unusedId(state, call.id, used);
    used.add(id);
    return id === call.id ? call : { ...call, id };
  });
  return { ...message, toolCalls };
}

/** The first number to try is that of the call in its thread: the numbers before it are mostly taken where an id is repeated. */
function unusedId(state: AgentState, given: string, used: ReadonlySet<string> = new Set()): string {
  let id = given;
  for (let number = state.toolExecutions.length + 1; used.has(id) || callAt(state.toolExecutions, id) !== -1; number++)
    id = `${given}_${number}`;
  return id;
}

/** The intent of a call that has effects is always durable before it runs. */
function mustSave({ parts, limits }: RunContext, { toolCalls = [] }: AssistantMessage): boolean {
  if (limits.iterations % parts.saveEvery === 0) return true;
  return toolCalls.some((call) => parts.tools.get(call.name)?.effect !== "pure");
}

/** One call of a model as a span and in the metrics, with what it cost. */
async function measured(
  { parts, threadId }: RunContext,
  { model, request }: ModelQuestion,
  ask: () => Promise<Collected>,
): Promise<Collected & { readonly cost: number | undefined }> {
  const { telemetry, prices } = parts;
  const began = telemetry.clock();
  const attributes = callAttributes(model);
  const took = (more: object): void =>
    telemetry.record(OPERATION_DURATION, (telemetry.clock() - began) / 1000, { ...attributes, ...more });
  return telemetry.span(modelSpan(model, request, threadId), async (span) => {
    try {
      const answer = await ask();
      const { usage, finishReason, response, answeredBy } = answer;
      const told = responseAttributes({ model: namesOf(answeredBy).model, ...response });
      const cost = costOf(prices, answeredBy, usage);
      span.set({ ...told, ...finishAttributes(finishReason), ...usageAttributes(usage) });
      if (cost !== undefined) span.set({ "holdfast.cost": cost });
      if (telemetry.recordsContent) span.set(saidAttributes(request, answer.message, finishReason));
      const by = { ...attributes, "gen_ai.response.model": told["gen_ai.response.model"] ?? "" };
      telemetry.record(TOKEN_USAGE, usage.inputTokens, { ...by, "gen_ai.token.type": "input" });
      telemetry.record(TOKEN_USAGE, usage.outputTokens, { ...by, "gen_ai.token.type": "output" });
      if (cost !== undefined) telemetry.count("holdfast.cost", cost, by);
      took({ "gen_ai.response.model": by["gen_ai.response.model"] });
      return { ...answer, cost };
    } catch (error) {
      took({ "error.type": errorType(error) });
      throw error;
    }
  });
}
