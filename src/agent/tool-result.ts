import type { AgentState } from "../state/agent-state.ts";
import { type ToolCall, type ToolMessage, toolMessage } from "../state/message.ts";
import type { ToolExecution } from "../state/state-fields.ts";
import type { Tool } from "./tool.ts";
import { tool } from "./tool.ts";
import { writtenResult } from "./written-result.ts";

/** How a call ended. */
export interface Outcome {
  readonly status: "succeeded" | "failed" | "unknown" | "denied";
  /** What the model is told. */
  readonly content: string;
}

export const failure = (content: string): Outcome => ({ status: "failed", content });

/** A tool's return value as text for a model; a value that cannot be told is a failure of the tool. */
export function success(result: unknown): Outcome {
  const written = writtenResult(result);
  if ("text" in written) return { status: "succeeded", content: written.text };
  return failure(`The tool ran, but what it returned cannot be written down: ${written.fault}`);
}

/** The outcome as part of the state: the ledger entry and the message, together. */
export function settle(
  state: AgentState,
  call: ToolCall,
  execution: ToolExecution,
  outcome: Outcome,
  options: { readonly now: number; readonly maxResultChars: number },
): AgentState {
  const { status, content } = outcome;
  const large = content.length > options.maxResultChars;
  const stored = large ? state.withArtifact(call.id, content) : state;
  const text = large ? reference(call, content, options.maxResultChars) : content;
  const isError = status !== "succeeded";
  const message: ToolMessage = toolMessage(text, {
    toolCallId: call.id,
    toolName: call.name,
    ...(isError && { isError }),
  });
  return stored
    .withMessage(message)
    .withToolExecution({ ...execution, status, settledAt: options.now, ...(isError && { error: text.slice(0, 500) }) });
}

function reference(call: ToolCall, content: string, maxResultChars: number): string {
  const shown = wholeSlice(content, 0, Math.floor(maxResultChars / 4));
  return `${shown}\n[The result has ${content.length} characters; these are the first ${shown.length}. Read on with ${READ_RESULT}({"name": ${JSON.stringify(call.id)}, "from": ${shown.length}}).]`;
}

/** A slice that does not end in half of a character: the other half begins the next one. */
function wholeSlice(text: string, from: number, to: number): string {
  const last = text.charCodeAt(to - 1);
  const isHalf = to < text.length && last >= 0xd800 && last <= 0xdbff;
  return text.slice(from, isHalf ? to - 1 : to);
}

export const READ_RESULT = "read_result";

/** Offered to the model beside the agent's own tools: reads a result that was too large for a message. */
export const readResultTool = (state: () => AgentState, maxResultChars: number): Tool =>
  tool({
    name: READ_RESULT,
    description: "Reads a part of an earlier tool result that was too large to show in full.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" }, from: { type: "integer", minimum: 0 } },
      required: ["name", "from"],
    },
    effect: "pure",
    execute: (input) => {
      const { name, from } = input as { name: string; from: number };
      const text = Object.hasOwn(state().artifacts, name) ? state().artifacts[name] : undefined;
      if (text === undefined) throw new Error(`there is no result named ${JSON.stringify(name)}`);
      return wholeSlice(text, from, from + maxResultChars - 1) || "[end of the result]";
    },
  });
