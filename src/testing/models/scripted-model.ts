import {
  type FinishReason,
  type Model,
  type ModelPart,
  type ModelRequest,
  type ModelUsage,
  NO_USAGE,
} from "../../models/model.ts";
import { ModelError } from "../../models/model-error.ts";
import { textOf } from "../../state/message.ts";
import { paced, type ScriptedToolCall, textParts, toolCallParts } from "./stream-words.ts";

/** What the model does when it is asked: a text, an answer, an error to throw, or a function that decides. */
export type ScriptStep =
  | string
  | ScriptedAnswer
  | { readonly parts: readonly ModelPart[] }
  | Error
  | ((request: ModelRequest) => ScriptStep | Promise<ScriptStep>);

export interface ScriptedAnswer {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  readonly usage?: Partial<ModelUsage>;
  /** @default "tool-calls" when there are some, else "stop" */
  readonly finishReason?: FinishReason;
  /** Thrown when everything else was said, instead of finishing. */
  readonly error?: Error;
  /** The stream ends without finishing. */
  readonly incomplete?: boolean;
  /** Waited before each part. */
  readonly delayMs?: number;
}

export interface ScriptedModel extends Model {
  /** What the model was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** Steps that were not taken yet. */
  readonly remaining: number;
}

/** A model that says what it is told to, one step for each request. More requests than steps are an error. */
export function scriptedModel(
  steps: readonly ScriptStep[],
  { id = "scripted" }: { readonly id?: string } = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    id,
    requests,
    get remaining() {
      return Math.max(0, steps.length - requests.length);
    },
    async *stream(request) {
      request.signal?.throwIfAborted();
      requests.push(request);
      const step = steps[requests.length - 1];
      if (step === undefined) throw scriptEnded(steps.length, request);
      yield* play(step, request);
    },
  };
}

async function* play(step: ScriptStep, request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
  if (typeof step === "function") return yield* play(await step(request), request);
  if (step instanceof Error) throw step;
  if (typeof step === "string") return yield* play({ text: step }, request);
  if ("parts" in step) return yield* paced(step.parts, request, 0);
  const { error, incomplete = false, delayMs = 0 } = step;
  yield* paced(saidIn(step, request), request, delayMs);
  if (error !== undefined) throw error;
  if (!incomplete) yield* paced([finishOf(step)], request, delayMs);
}

function saidIn({ text = "", reasoning = "", toolCalls = [] }: ScriptedAnswer, request: ModelRequest): ModelPart[] {
  return [
    ...textParts("reasoning-delta", reasoning, 0),
    ...textParts("text-delta", text, 1),
    ...toolCallParts(toolCalls, request),
  ];
}

function finishOf({ toolCalls = [], finishReason, usage }: ScriptedAnswer): ModelPart {
  const reason = finishReason ?? (toolCalls.length > 0 ? "tool-calls" : "stop");
  return { type: "finish", reason, usage: { ...NO_USAGE, ...usage } };
}

function scriptEnded(length: number, { messages }: ModelRequest): ModelError {
  const last = messages.at(-1);
  const said = last === undefined ? "nothing" : `${last.role}: ${JSON.stringify(textOf(last).slice(0, 80))}`;
  return new ModelError(
    `scriptedModel: asked ${length + 1} times, but the script has ${length} step(s); the last message was ${said}`,
    { retryable: false },
  );
}
