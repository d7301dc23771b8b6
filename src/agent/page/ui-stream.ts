import { StateError } from "../../errors.ts";
import { type AssistantMessage, type FilePart, type Message, type ToolMessage, textOf } from "../../state/message.ts";
import type { PendingCall } from "../../state/pending.ts";
import type { RunEvent, StopReason } from "../events.ts";
import { approvalIdOf } from "../tool-call/interrupts.ts";
import { readsAsValue } from "../tool-call/tool-result.ts";

/** One piece of the AI SDK's UI message protocol, version 1. */
export type UIMessageChunk = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface UIStreamOptions {
  /**
   * What a page is told about a failure, of the run or (as `ToolFailure`) of a tool's call. By default only its code:
   * pages are public, and what a tool throws may name keys, addresses and paths.
   */
  readonly onError?: (error: unknown) => string;
  /** Whether what the model thinks is sent. @default true */
  readonly sendReasoning?: boolean;
}

/** The id of the assistant's message on a page: the same from every process, so that one that reconnects replaces it. */
export const turnMessageId = (turn: number): string => `turn-${turn}`;

/** The events of a run as chunks. A failure is a chunk, too: a page is told, and the run's own promise throws. */
export async function* uiChunks(
  events: AsyncIterable<RunEvent>,
  { onError = maskedError, sendReasoning = true }: UIStreamOptions,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  const page = new UIMessageWriter({ onError, sendReasoning });
  try {
    for await (const event of events) {
      yield* page.write(event);
      // The page has all of the answer; what the run still does is no reason to keep it waiting.
      if (event.type === "run-end") return;
    }
  } catch (error) {
    yield* page.end("error");
    yield { type: "error", errorText: onError(error) };
  }
}

/** A call that ended without a result, with the words that the model was told. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly toolCallId: string;
  readonly toolName: string;

  constructor({ toolCallId, toolName, ...message }: ToolMessage) {
    super(textOf({ toolCallId, toolName, ...message }));
    this.toolCallId = toolCallId;
    this.toolName = toolName;
  }
}

export function maskedError(error: unknown): string {
  if (error instanceof ToolFailure) return "The call failed.";
  return `The run failed (${StateError.is(error) ? error.code : "UNKNOWN"}).`;
}

/** Keeps what is open on the page: the message, the step, the block of text. */
export class UIMessageWriter {
  readonly #sendReasoning: boolean;
  readonly #onError: (error: unknown) => string;
  readonly #inputs = new Set<string>();
  readonly #arguments = new Map<string, unknown>();
  readonly #denied = new Set<string>();
  #isStarted = false;
  #isInStep = false;
  #hasSpoken = false;
  #blocks = 0;
  #open: { readonly kind: "text" | "reasoning"; readonly id: string } | undefined;

  constructor({ onError = maskedError, sendReasoning = true }: UIStreamOptions) {
    this.#sendReasoning = sendReasoning;
    this.#onError = onError;
  }

  *write(event: RunEvent): Generator<UIMessageChunk, void, undefined> {
    switch (event.type) {
      case "iteration-start":
        return yield* this.step(event.turn);
      case "model-delta":
        return yield* this.#words(event.kind, event.text);
      case "tool-input-delta":
        yield* this.#input(event.toolCallId, event.toolName);
        return yield { type: "tool-input-delta", toolCallId: event.toolCallId, inputTextDelta: event.text };
      case "tool-start":
        return yield* this.#resumed(event.toolCallId, event.toolName, event.arguments);
      case "tool-end":
        this.#arguments.set(event.toolCallId, event.arguments);
        if (event.status === "denied" && event.approvalId !== undefined) this.denied(event.toolCallId);
        return;
      case "turn-so-far":
        for (const toolCallId of event.denied) this.denied(toolCallId);
        for (const message of event.messages) yield* this.said(message, event.turn);
        return;
      case "sub-agent":
        return yield beside("sub-agent", event.toolCallId, { toolName: event.toolName, ...shownOf(event.event) });
      case "tool-retry":
        return yield beside("retry", event.toolCallId, { attempt: event.attempt, retryAt: event.retryAt });
      case "model-retry":
        return yield beside("retry", undefined, { attempt: event.attempt, delayMs: event.delayMs });
      case "guarded":
        return yield beside("guarded", event.toolCallId, { what: event.what, verdict: event.verdict });
      case "message":
        return yield* this.message(event.message);
      case "tool-progress":
        return yield {
          type: "tool-output-available",
          toolCallId: event.toolCallId,
          output: event.progress,
          preliminary: true,
        };
      case "pending":
        return yield* this.pending(event.call);
      case "run-end":
        return yield* this.end(event.stopReason);
    }
  }

  /** A person refused this call: its result says nothing more. */
  denied(toolCallId: string): void {
    this.#denied.add(toolCallId);
  }

  /** A step of the model's: its words, its calls and what came of them. */
  *step(turn: number): Generator<UIMessageChunk, void, undefined> {
    if (!this.#isStarted) yield { type: "start", messageId: turnMessageId(turn) };
    this.#isStarted = true;
    yield* this.#closeStep();
    this.#isInStep = true;
    this.#hasSpoken = false;
    yield { type: "start-step" };
  }

  /** A message that was not streamed: of an earlier run of the turn, or of another process. */
  *said(message: Message, turn: number): Generator<UIMessageChunk, void, undefined> {
    if (message.role === "assistant") yield* this.step(turn);
    yield* this.message(message);
  }

  *message(message: Message): Generator<UIMessageChunk, void, undefined> {
    if (message.role === "assistant") yield* this.#answer(message);
    if (message.role !== "tool") return;
    yield* this.#resumed(message.toolCallId, message.toolName, this.#arguments.get(message.toolCallId));
    yield this.#result(message);
  }

  /** An approval of a call that the page shows is the AI SDK's own; all else that waits is data. */
  *pending(call: PendingCall): Generator<UIMessageChunk, void, undefined> {
    const { id, toolCallId } = call;
    if (id === approvalIdOf(toolCallId)) yield { type: "tool-approval-request", approvalId: id, toolCallId };
    else yield { type: "data-pending", ...pendingData(call) };
  }

  *end(stopReason: StopReason): Generator<UIMessageChunk, void, undefined> {
    yield* this.#closeStep();
    if (!this.#isStarted) yield { type: "start" };
    if (stopReason === "cancelled") yield { type: "abort" };
    yield { type: "finish", finishReason: FINISH[stopReason] ?? "other", messageMetadata: { stopReason } };
  }

  /** Words that were not streamed, such as those of an earlier process, are said at once. */
  *#answer({ content, toolCalls = [] }: AssistantMessage): Generator<UIMessageChunk, void, undefined> {
    if (!this.#hasSpoken) {
      for (const part of typeof content === "string" ? [{ type: "text" as const, text: content }] : content) {
        if (part.type !== "file") yield* this.#words(part.type, part.text);
        yield* this.#closeBlock();
      }
    }
    yield* this.#closeBlock();
    const files = typeof content === "string" ? [] : content.filter((part): part is FilePart => part.type === "file");
    for (const { data, mediaType } of files) {
      const url =
        data instanceof Uint8Array ? `data:${mediaType};base64,${Buffer.from(data).toString("base64")}` : data.url;
      yield { type: "file", url, mediaType };
    }
    for (const { id, name, arguments: input, invalid } of toolCalls) {
      yield* this.#input(id, name);
      const call = { toolCallId: id, toolName: name, input };
      if (invalid === undefined) yield { type: "tool-input-available", ...call };
      else yield { type: "tool-input-error", ...call, errorText: invalid };
    }
  }

  #result(message: ToolMessage): UIMessageChunk {
    const { toolCallId, isError } = message;
    if (this.#denied.has(toolCallId)) return { type: "tool-output-denied", toolCallId };
    if (isError === true) {
      return { type: "tool-output-error", toolCallId, errorText: this.#onError(new ToolFailure(message)) };
    }
    return { type: "tool-output-available", toolCallId, output: outputOf(message) };
  }

  *#words(kind: "text" | "reasoning", text: string): Generator<UIMessageChunk, void, undefined> {
    if (text === "" || (kind === "reasoning" && !this.#sendReasoning)) return;
    this.#hasSpoken = true;
    if (this.#open?.kind !== kind) {
      yield* this.#closeBlock();
      this.#open = { kind, id: `${kind}-${++this.#blocks}` };
      yield { type: `${kind}-start`, id: this.#open.id };
    }
    yield { type: `${kind}-delta`, id: this.#open.id, delta: text };
  }

  *#input(toolCallId: string, toolName: string): Generator<UIMessageChunk, void, undefined> {
    if (this.#inputs.has(toolCallId)) return;
    this.#inputs.add(toolCallId);
    yield* this.#closeBlock();
    yield { type: "tool-input-start", toolCallId, toolName };
  }

  /**
   * A call that was asked for in an earlier run, which this stream has not shown yet.
   */
  *#resumed(toolCallId: string, toolName: string, input: unknown): Generator<UIMessageChunk, void, undefined> {
    if (this.#inputs.has(toolCallId)) return;
    if (!this.#isStarted) yield { type: "start" };
    this.#isStarted = true;
    yield* this.#input(toolCallId, toolName);
    yield { type: "tool-input-available", toolCallId, toolName, input: input ?? {} };
  }

  *#closeBlock(): Generator<UIMessageChunk, void, undefined> {
    if (this.#open !== undefined) yield { type: `${this.#open.kind}-end`, id: this.#open.id };
    this.#open = undefined;
  }

  *#closeStep(): Generator<UIMessageChunk, void, undefined> {
    yield* this.#closeBlock();
    if (this.#isInStep) yield { type: "finish-step" };
    this.#isInStep = false;
  }
}

/** What waits, as a page gets it; the arguments are with their call. */
export function pendingData({ id, kind, toolCallId, toolName, question, schema, dueAt, isInDoubt }: PendingCall): {
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
} {
  const due = dueAt === undefined ? {} : { dueAt: dueAt.toISOString() };
  const asked = { question, ...(schema !== undefined && { schema }), ...(isInDoubt && { isInDoubt }) };
  return { id, data: { id, kind, toolCallId, toolName, ...asked, ...due } };
}

/** What a tool returned: the value itself where it is kept beside the words, else what the words are the JSON of. */
export function outputOf(message: ToolMessage): unknown {
  const structured = message.metadata?.["structuredContent"];
  if (structured !== undefined) return structured;
  const text = textOf(message);
  if (!/^\s*[{[]/.test(text) && !readsAsValue(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Data that a page may show while it comes, and need not keep. */
const beside = (what: string, toolCallId: string | undefined, data: object): UIMessageChunk => ({
  type: `data-${what}`,
  ...(toolCallId !== undefined && { id: toolCallId }),
  data: { ...(toolCallId !== undefined && { toolCallId }), ...data },
  transient: true,
});

/** What a sub-agent does, as far as a page is shown it: its words, and which tools it calls. */
function shownOf(event: RunEvent): object {
  if (event.type === "model-delta" && event.kind === "text") return { event: event.type, text: event.text };
  if (event.type === "tool-start" || event.type === "tool-end") return { event: event.type, tool: event.toolName };
  return { event: event.type };
}

const FINISH: Readonly<Partial<Record<StopReason, string>>> = {
  complete: "stop",
  "terminal-tool": "stop",
  pending: "tool-calls",
  length: "length",
  "content-filter": "content-filter",
  error: "error",
};
