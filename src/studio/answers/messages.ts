import type { Interrupt, StateFields, ToolExecution } from "../../state/fields.ts";
import { type Message, textOf } from "../../state/message.ts";
import type { SignalPart } from "../../state/people/personal-fields.ts";
import type { ShownCall, ShownExecution, ShownMessage, ShownPart, ShownQuestion } from "../api.ts";
import { ARGUMENTS_SHOWN, cut, cutAt, LINE_SHOWN, TEXT_SHOWN } from "./cut.ts";
import { jsonText } from "./value-tree.ts";

/** Finds what belongs to a call without a walk over the ledger for each. Made once for a state. */
export class CallIndex {
  readonly #executions = new Map<string, ToolExecution>();
  readonly #questions = new Map<string, Interrupt>();

  constructor({ toolExecutions, interrupts }: StateFields) {
    for (const execution of toolExecutions) this.#executions.set(execution.toolCallId, execution);
    for (const interrupt of interrupts) {
      const known = this.#questions.get(interrupt.toolCallId);
      if (known === undefined || known.answer !== undefined) this.#questions.set(interrupt.toolCallId, interrupt);
    }
  }

  execution(toolCallId: string): ToolExecution | undefined {
    return this.#executions.get(toolCallId);
  }

  /** The one that waits, or the last that was answered. */
  question(toolCallId: string): Interrupt | undefined {
    return this.#questions.get(toolCallId);
  }
}

/** Answers that were sent and that no run has taken in, by the ids of their questions. */
export type SentAnswers = ReadonlyMap<string, SignalPart>;

const name = (text: string): string => cutAt(text, LINE_SHOWN);

export function shownMessage(message: Message, index: number, calls: CallIndex, sent: SentAnswers): ShownMessage {
  return {
    index,
    role: message.role,
    parts: partsOf(message, index),
    calls: callsOf(message, index, calls, sent),
    ...(message.id !== undefined && { id: name(message.id) }),
    ...(message.role === "user" && message.name !== undefined && { name: name(message.name) }),
    ...(message.role === "tool" && {
      toolCallId: name(message.toolCallId),
      toolName: name(message.toolName),
      ...(message.isError === true && { isError: true }),
    }),
    ...(message.role === "assistant" && {
      ...(message.incomplete === true && { incomplete: true }),
      ...(message.finishReason !== undefined && { finishReason: name(message.finishReason) }),
    }),
  };
}

function partsOf({ content }: Message, index: number): readonly ShownPart[] {
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "text", ...cut(content), path: ["messages", index, "content"] }];
  }
  return content.map((part, at): ShownPart => {
    const path = ["messages", index, "content", at];
    if (part.type !== "file") return { type: part.type, ...cut(part.text), path: [...path, "text"] };
    const isHere = part.data instanceof Uint8Array;
    return {
      type: "file",
      mediaType: name(part.mediaType),
      path: [...path, "data"],
      ...(part.filename !== undefined && { name: name(part.filename) }),
      ...(isHere
        ? { bytes: (part.data as Uint8Array).byteLength }
        : { url: cutAt((part.data as { url: string }).url, LINE_SHOWN) }),
    };
  });
}

function callsOf(message: Message, index: number, calls: CallIndex, sent: SentAnswers): readonly ShownCall[] {
  if (message.role !== "assistant") return [];
  return (message.toolCalls ?? []).map(({ id, name: tool, arguments: args, invalid }, at) => {
    const [execution, question] = [calls.execution(id), calls.question(id)];
    return {
      id: name(id),
      name: name(tool),
      arguments: cut(jsonText(args, 2), ARGUMENTS_SHOWN),
      path: ["messages", index, "toolCalls", at, "arguments"],
      ...(invalid !== undefined && { invalid: name(invalid) }),
      ...(execution !== undefined && { execution: shownExecution(execution) }),
      ...(question !== undefined && { question: shownQuestion(question, sent) }),
    };
  });
}

export function shownExecution(execution: ToolExecution): ShownExecution {
  const { toolCallId, toolName, status, effect, attempts, startedAt, settledAt, error, settledBy } = execution;
  const { idempotencyKey, argumentsHash } = execution;
  return {
    toolCallId: name(toolCallId),
    toolName: name(toolName),
    status,
    ...(effect !== undefined && { effect }),
    ...(attempts !== undefined && { attempts }),
    ...(startedAt !== undefined && { startedAt }),
    ...(settledAt !== undefined && { settledAt }),
    ...(error !== undefined && { error: cut(error, LINE_SHOWN) }),
    ...(settledBy !== undefined && {
      settledBy: { by: name(settledBy.by), ...(settledBy.reason !== undefined && { reason: name(settledBy.reason) }) },
    }),
    ...(idempotencyKey !== undefined && { idempotencyKey: name(idempotencyKey) }),
    ...(argumentsHash !== undefined && { argumentsHash: name(argumentsHash) }),
  };
}

export function shownQuestion(interrupt: Interrupt, sent: SentAnswers): ShownQuestion {
  const { id, kind, question, schema, askedAt } = interrupt;
  const waiting = interrupt.answer === undefined ? sent.get(id) : undefined;
  const answer = interrupt.answer ?? waiting;
  return {
    id,
    kind,
    question: cut(question, ARGUMENTS_SHOWN),
    askedAt,
    ...shownSchema(schema),
    ...(answer !== undefined && {
      answer: cut(answer.declined === true ? "declined" : jsonText(answer.value), LINE_SHOWN),
    }),
    ...(waiting !== undefined && { isSent: true }),
  };
}

/** A schema that is too large for a form is left out: the answer is JSON then. */
export function shownSchema(schema: Interrupt["schema"]): { readonly schema?: Readonly<Record<string, unknown>> } {
  if (schema === undefined || jsonText(schema).length > TEXT_SHOWN) return {};
  return { schema };
}

const TROUBLED: ReadonlySet<ToolExecution["status"]> = new Set(["failed", "unknown", "denied", "waiting", "started"]);

/** Whether a search for problems stops at this message. */
export function isProblem(message: Message, calls: CallIndex): boolean {
  if (message.role === "tool") return message.isError === true;
  if (message.role !== "assistant") return false;
  if (message.incomplete === true || message.finishReason !== undefined) return true;
  return (message.toolCalls ?? []).some(({ id }) => TROUBLED.has(calls.execution(id)?.status ?? "intended"));
}

/** What find-in-thread looks at: words, names of tools and their arguments. */
export function searchedText(message: Message): string {
  if (message.role !== "assistant" || message.toolCalls === undefined) return textOf(message);
  const calls = message.toolCalls.map((call) => `${call.name} ${jsonText(call.arguments)}`);
  return [textOf(message), ...calls].join("\n");
}
