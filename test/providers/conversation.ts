import { expect } from "vitest";
import { collectAnswer, type ModelAnswer } from "../../src/models/collect-answer.ts";
import type { Model, ModelRequest, ModelTool } from "../../src/models/model.ts";
import { parseToolArguments } from "../../src/models/tool-arguments.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, toolMessage } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";

export const LOOKUP: ModelTool = {
  name: "lookup",
  description: "Finds deploys",
  inputSchema: { type: "object", properties: { service: { type: "string" } }, required: ["service"] },
};

/** As if the process ended here and another one went on: all that is left is text. */
export function throughCheckpoint(state: AgentState): AgentState {
  const text = JSON.stringify(state.toCheckpoint());
  const loaded = AgentState.fromCheckpoint(JSON.parse(text));
  expect(JSON.stringify(loaded.toCheckpoint()), "the checkpoint is the same byte for byte").toBe(text);
  return loaded;
}

/** Asks once and adds the answer; every call is answered with `results`. The state goes through a checkpoint after each. */
export async function takeTurn(
  model: Model,
  state: AgentState,
  request: Partial<ModelRequest> = {},
  results: (service: unknown) => string = (service) => `deploys of ${service}`,
): Promise<{ readonly state: AgentState; readonly answer: ModelAnswer }> {
  const answer = await collectAnswer(model.stream({ messages: state.messages, tools: [LOOKUP], ...request }));
  const toolCalls = answer.toolCalls.map(({ id, name, argumentsText, providerMetadata }) => {
    const parsed = parseToolArguments(argumentsText);
    expect(parsed.ok).toBe(true);
    const made = { id, name, arguments: parsed.ok ? parsed.value : {} };
    return providerMetadata === undefined ? made : { ...made, providerMetadata };
  });
  const said = assistantMessage(answer.content, toolCalls.length > 0 ? { toolCalls } : {});
  const answered = toolCalls.map((call) =>
    toolMessage(results((call.arguments as { service?: unknown }).service), {
      toolCallId: call.id,
      toolName: call.name,
    }),
  );
  const next = throughCheckpoint(throughCheckpoint(state.withMessage(said)).withMessages(answered));
  assertValidForOpenAI(next.messages);
  assertValidForAnthropic(next.messages);
  return { state: next, answer };
}
