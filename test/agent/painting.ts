import type { CoreAgent } from "../../src/agent/agent.ts";
import { type Tool, type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import type { MemoryStore } from "./stored-thread.ts";

const WHO = { type: "object", properties: { who: { type: "string" } } } as const;

/** Asks a person for a colour and paints with it. */
export function paint(
  painted: unknown[],
  options: { readonly effect?: ToolEffect; readonly schema?: object } = {},
): Tool {
  const { effect = "atMostOnce", schema } = options;
  return tool({
    name: "paint",
    inputSchema: WHO,
    effect,
    execute: async (input, context) => {
      const { who } = input as { who: string };
      const question = { question: `Which colour for ${who}?`, ...(schema !== undefined && { schema }) };
      const colour = await context.interrupt(question as { question: string });
      painted.push([who, colour]);
      return `painted ${who}`;
    },
  });
}

export const asksFor = (...names: string[]): ScriptStep => ({
  toolCalls: names.map((who) => ({ name: "paint", arguments: { who }, id: `paint-${who}` })),
});

/** Every call of this is a new process. */
export const newProcess = (store: MemoryStore, tools: readonly Tool[], steps: readonly ScriptStep[]): CoreAgent =>
  agentOf({ model: scriptedModel(steps), checkpointer: store.open(), tools });
