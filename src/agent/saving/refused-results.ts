import { StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ContentPart, Message, ToolMessage } from "../../state/message.ts";

/** The storage, or a redactor before it, does not take what the save says: the same save is refused for ever. */
export const isRefused = (error: unknown): error is StateError =>
  StateError.is(error, "TOO_LARGE") || StateError.is(error, "INVALID_ARGUMENT");

/**
 * After a save was refused: the state without the largest result that is not in `saved`. Throws
 * the refusal where none is left. A call that took effect must be settled,
 * also where what it brought cannot be kept.
 */
export function withoutRefusedResult(state: AgentState, saved: AgentState, refusal: StateError): AgentState {
  const known = new Set(saved.messages.map((message) => (message.role === "tool" ? message.toolCallId : undefined)));
  const fresh = state.messages.filter(
    (message): message is ToolMessage =>
      message.role === "tool" && !known.has(message.toolCallId) && !isLeftOut(message),
  );
  const sizes = new Map(fresh.map((message) => [message, sizeOf(message, state)]));
  const largest = fresh.reduce<ToolMessage | undefined>(
    (most, each) => (most === undefined || (sizes.get(each) ?? 0) > (sizes.get(most) ?? 0) ? each : most),
    undefined,
  );
  if (largest === undefined) throw refusal;
  const { toolCallId } = largest;
  const note = `${LEFT_OUT} ${StateError.is(refusal, "TOO_LARGE") ? "it is more than the storage takes." : "the storage refused it."}`;
  const { [toolCallId]: _, ...artifacts } = state.artifacts;
  const execution = state.toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
  const shorter = state.with({
    messages: state.messages.map((message) =>
      message === largest ? { ...withoutStructured(largest), content: note } : message,
    ),
    artifacts,
  });
  return execution?.error === undefined ? shorter : shorter.withToolExecution({ ...execution, error: note });
}

const LEFT_OUT = "The call is settled, but what it brought was not kept:";

const isLeftOut = ({ content }: Message): boolean => typeof content === "string" && content.startsWith(LEFT_OUT);

function withoutStructured({ metadata, ...message }: ToolMessage): ToolMessage {
  if (metadata === undefined) return message;
  const { structuredContent: _, ...kept } = metadata;
  return { ...message, metadata: kept };
}

function sizeOf({ content, toolCallId, metadata }: ToolMessage, { artifacts }: AgentState): number {
  const shown = typeof content === "string" ? content.length : content.reduce((sum, part) => sum + sizeOfPart(part), 0);
  const beside = metadata?.["structuredContent"] === undefined ? 0 : JSON.stringify(metadata).length;
  return shown + beside + (artifacts[toolCallId]?.length ?? 0);
}

const sizeOfPart = (part: ContentPart): number =>
  part.type !== "file"
    ? part.text.length
    : part.data instanceof Uint8Array
      ? part.data.byteLength
      : String(part.data).length;
