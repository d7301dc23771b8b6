import type { ModelAnswer, RequestedToolCall } from "../../models/collect-answer.ts";
import type { FinishReason } from "../../models/model.ts";
import { type AssistantMessage, hasContent, type UnusualFinish } from "../../state/message.ts";
import type { StopReason } from "../events.ts";

/** What the message of the model keeps of how it ended; nothing where it simply finished. */
export function unusualFinish({ content, toolCalls }: ModelAnswer, reason: FinishReason): UnusualFinish | undefined {
  if (reason !== "stop" && reason !== "tool-calls" && reason !== "other") return reason;
  const isEmpty = toolCalls.length === 0 && !hasContent({ role: "assistant", content });
  if (isEmpty) return "empty";
  return reason === "other" ? "other" : undefined;
}

/**
 * The calls that may be run. A model that was stopped by a filter, by itself or by a
 * failure did not mean its calls as they stand. At its length limit it may have
 * begun one more call: a call without arguments is then left out.
 */
export function wholeCalls(calls: readonly RequestedToolCall[], reason: FinishReason): readonly RequestedToolCall[] {
  if (reason === "content-filter" || reason === "refusal" || reason === "error") return [];
  if (reason !== "length") return calls;
  return calls.filter(({ argumentsText }, index) => index < calls.length - 1 || argumentsText.trim() !== "");
}

/** How a turn ended whose last message this is. */
export function stopReasonOf({ finishReason }: AssistantMessage): StopReason {
  return finishReason === undefined || finishReason === "other" ? "complete" : finishReason;
}
