import { CoreAgent } from "../../src/agent/agent.ts";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import { type Model, type ModelPart, NO_USAGE } from "../../src/models/model.ts";
import { type Message, textOf } from "../../src/state/message.ts";
import { parentOf } from "../../src/state/tool-calls.ts";
import { check, checkClaim, resultFor, type World } from "./story.ts";

/** What a clerk says whose act was cut off. */
export const inDoubt = (n: number): string => `may have done ${n}`;

/** The work of a story, done by a sub-agent with one call of its own. Every second time it asks a person first. */
export function clerkTool(world: World): Tool {
  const act = actTool(world);
  const clerk = new CoreAgent({ model: async () => clerkModel(world), tools: [act] });
  return clerk.asTool({
    name: "work",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    prompt: ({ n }: { n: number }) => String(n),
  });
}

/** Decided by what it is shown: one call, then what came of it. */
function clerkModel({ point, faults }: World): Model {
  return {
    id: "clerk",
    async *stream(request) {
      check(request, faults);
      await point("clerk asked");
      for (const part of partsFor(request.messages)) {
        yield part;
        await point(`clerk said ${part.type}`);
      }
    },
  };
}

function partsFor(messages: readonly Message[]): readonly ModelPart[] {
  const n = Number(textOf(messages[0] as Message));
  const result = messages.find((message) => message.role === "tool");
  if (result === undefined) {
    const call = { type: "tool-call", id: "act", name: "act", argumentsText: JSON.stringify({ n }) } as const;
    return [call, { type: "finish", reason: "tool-calls", usage: NO_USAGE }];
  }
  const text = textOf(result) === resultFor(n) ? resultFor(n) : inDoubt(n);
  return [
    { type: "text-delta", part: 0, text },
    { type: "finish", reason: "stop", usage: NO_USAGE },
  ];
}

function actTool(world: World): Tool {
  const { point, effects, faults } = world;
  return tool({
    name: "act",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    execute: async (input, context) => {
      const { n } = input as { n: number };
      await checkClaim(world, context);
      await point("clerk begins to act");
      if (n % 2 === 0 && (await context.interrupt({ question: `may I do ${n}?` })) !== "yes") return "refused";
      await point("clerk is about to act");
      const toolCallId = parentOf(context.metadata)?.toolCallId ?? "";
      if (n % 2 === 0 && !world.told.answered.has(`${toolCallId}/act/1`)) faults.push(`${n} is done without approval`);
      effects.add({ toolCallId, n, key: context.idempotencyKey, attempt: context.attempt });
      await point("clerk acted");
      return resultFor(n);
    },
  });
}
