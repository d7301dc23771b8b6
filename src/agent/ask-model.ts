import { StateError } from "../errors.ts";
import { reasonOf } from "../internal/reason-of.ts";
import { redact, redactCause } from "../internal/redact.ts";
import { untilAborted } from "../internal/until-aborted.ts";
import { AnswerCollector, type ModelAnswer, type RequestedToolCall } from "../models/collect-answer.ts";
import { type FinishReason, type ModelPart, type ModelRequest, type ModelUsage, NO_USAGE } from "../models/model.ts";
import { ModelError } from "../models/model-error.ts";
import { parseToolArguments } from "../models/tool-arguments.ts";
import type { AgentState } from "../state/agent-state.ts";
import { type AssistantMessage, type ToolCall, textOf } from "../state/message.ts";
import { unusualFinish, wholeCalls } from "./finish.ts";
import { runAfter } from "./hooks.ts";
import { intend } from "./ledger.ts";
import {
  filesToLeaveOut,
  isAboutTheRequest,
  rememberRefused,
  withoutFiles,
  withoutRefusedFiles,
} from "./refused-files.ts";
import type { RunContext } from "./run-context.ts";
import { modelTool, type Tool } from "./tool.ts";
import { READ_RESULT } from "./tool-result.ts";

/**
 * Asks the model once, and makes its message and the intent of every call it asks
 * for part of the state. Nothing where it was cut off before it said anything.
 */
export async function askModel(context: RunContext): Promise<AssistantMessage | undefined> {
  const { parts, session, limits, emit } = context;
  const request = await buildRequest(context);
  await parts.hooks.beforeModel?.({ request });
  if (parts.model.runsTools === true) await session.durable();
  const { message, usage, finishReason } = await parts.telemetry.span(
    "model",
    { "holdfast.model": parts.model.id },
    () => answerTo(context, request),
  );
  // An answer that was ended because a save failed is no answer; one that was complete by then is kept.
  if (message.incomplete === true) session.throwIfFailed();
  limits.countUsage(usage);
  await context.prompt.observe(context, request, usage);
  if (message.incomplete === true && message.content.length === 0) return undefined;
  const named = withUnusedIds(session.state, message);
  session.change((state) =>
    intend(state.withMessage(named), named, parts.tools).withUsage({
      iterations: 1,
      toolCalls: named.toolCalls?.length ?? 0,
      ...usage,
    }),
  );
  // An answer is saved by whoever judges it, calls together with their claims.
  if (named.toolCalls === undefined) session.owe();
  else if (mustSave(context, named)) session.saveBeside({ gathers: true });
  emit({ type: "message", message: named, ...(finishReason !== undefined && { finishReason }) });
  await runAfter(context, "afterModel", { message: named, state: session.state });
  return named;
}

async function buildRequest(context: RunContext): Promise<ModelRequest> {
  const { parts, session, prompt, modelSignal: signal } = context;
  const tools = offeredTools(context).map(modelTool);
  const output =
    parts.output === undefined ? {} : { responseSchema: { name: "answer", schema: parts.output.jsonSchema } };
  const shown = await prompt.messages(context, tools);
  const messages = withoutRefusedFiles(shown, session.state, parts.model.id);
  return { messages, tools, ...output, signal };
}

/** The reader of large results is offered once there is something to read. */
function offeredTools({ parts, session }: RunContext): readonly Tool[] {
  const hasArtifacts = Object.keys(session.state.artifacts).length > 0;
  return [...parts.tools.values()].filter((tool) => hasArtifacts || tool.name !== READ_RESULT);
}

interface Collected {
  readonly message: AssistantMessage;
  readonly usage: ModelUsage;
  readonly finishReason: FinishReason | undefined;
}

/** Where the model refuses the request and older files may be why, it is asked again without those. */
async function answerTo(context: RunContext, request: ModelRequest): Promise<Collected> {
  const { session, parts, emit } = context;
  try {
    return await collect(context, request);
  } catch (error) {
    if (!isAboutTheRequest(error) || context.progress.spoken !== "") throw error;
    for (const digests of filesToLeaveOut(request.messages)) {
      const messages = withoutFiles(request.messages, digests);
      const answer = await collect(context, { ...request, messages }).catch(() => undefined);
      if (answer === undefined) continue;
      session.change((state) => rememberRefused(state, parts.model.id, digests));
      emit({ type: "warning", where: "files", error });
      return answer;
    }
    throw error;
  }
}

async function collect(context: RunContext, request: ModelRequest): Promise<Collected> {
  const collector = new AnswerCollector();
  try {
    for await (const part of heeding(context.parts.model.stream(request), context.modelSignal)) {
      collector.add(part);
      if (part.type === "text-delta") context.emit({ type: "model-delta", kind: "text", text: part.text });
      if (part.type === "reasoning-delta") context.emit({ type: "model-delta", kind: "reasoning", text: part.text });
    }
  } catch (error) {
    context.progress.spoken = textOf({ role: "assistant", content: collector.answer.content });
    if (!context.modelSignal.aborted) throw StateError.is(error) ? error : modelFailure(error);
  }
  const { answer } = collector;
  const { usage = NO_USAGE, reason: finishReason } = answer.finish ?? {};
  return { message: messageOf(answer), usage, finishReason };
}

/** The parts of a stream until the signal aborts, also when the model does not listen to it. */
async function* heeding(stream: AsyncIterable<ModelPart>, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a model that hangs must not hold up the run that has gone on.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

const modelFailure = (error: unknown): ModelError =>
  new ModelError(redact(reasonOf(error)), { retryable: false, cause: redactCause(error) });

/** Calls of an answer that was cut off may be half of what the model wanted: they are not kept, and none of them is run. */
function messageOf(answer: ModelAnswer): AssistantMessage {
  const { content, finish } = answer;
  if (finish === undefined) return { role: "assistant", content, incomplete: true };
  const toolCalls = wholeCalls(answer.toolCalls, finish.reason);
  const finishReason = unusualFinish(answer, finish.reason);
  return {
    role: "assistant",
    content,
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(readCall) }),
    ...(finishReason !== undefined && { finishReason }),
    ...(finish.providerMetadata !== undefined && { providerMetadata: finish.providerMetadata }),
  };
}

function readCall({ argumentsText, ...call }: RequestedToolCall): ToolCall {
  const parsed = parseToolArguments(argumentsText);
  if (parsed.ok) return { ...call, arguments: parsed.value };
  return { ...call, arguments: { unreadable: argumentsText }, invalid: parsed.reason };
}

/** Some providers count calls from one in every turn; the ledger needs a name that was not used in the thread before. */
function withUnusedIds(state: AgentState, message: AssistantMessage): AssistantMessage {
  if (message.toolCalls === undefined) return message;
  const used = new Set<string>();
  const isUsed = (id: string): boolean => used.has(id) || isKnownCall(state, id);
  const toolCalls = message.toolCalls.map((call) => {
    let id = call.id;
    for (let count = 2; isUsed(id); count++) id = `${call.id}_${count}`;
    used.add(id);
    return id === call.id ? call : { ...call, id };
  });
  return { ...message, toolCalls };
}

function isKnownCall({ toolExecutions }: AgentState, id: string): boolean {
  for (const { toolCallId } of toolExecutions) if (toolCallId === id) return true;
  return false;
}

/** The intent of a call that has effects is always durable before it runs. */
function mustSave({ parts, limits }: RunContext, { toolCalls = [] }: AssistantMessage): boolean {
  if (limits.iterations % parts.saveEvery === 0) return true;
  return toolCalls.some((call) => parts.tools.get(call.name)?.effect !== "pure");
}
