import type { CoreAgentOptions } from "../../src/agent/agent.ts";
import { type Tool, type ToolContext, type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import { type Model, type ModelPart, type ModelRequest, NO_USAGE } from "../../src/models/model.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { clerkTool } from "./clerk.ts";
import type { Effects } from "./effects.ts";
import type { AwaitPoint } from "./fuse.ts";
import type { Told } from "./told.ts";

/** What tools of a story are allowed, and what they do. */
export const KINDS = [
  "pure",
  "idempotent",
  "atMostOnce",
  "verified",
  "paused",
  "approved",
  "retried",
  "background",
  "delegated",
] as const;
export type Kind = (typeof KINDS)[number];

/** What the user asks for, and what the model makes of it. The same in every process. */
export interface Story {
  readonly kind: Kind;
  /** How many calls the model makes at once, in each of two rounds. */
  readonly tools: 0 | 1 | 3;
  readonly every: NonNullable<CoreAgentOptions["checkpointEveryNIterations"]>;
}

export const PROMPT = "do the work";
export const LATER_PROMPT = "and then?";
export const ANSWER = "the work is done";
export const LATER_ANSWER = "that was all";
const ROUNDS = 2;

export interface World {
  readonly point: AwaitPoint;
  readonly effects: Effects;
  /** Requests that a provider would have refused, and tools that acted too early. */
  readonly faults: string[];
  readonly told: Told;
  /**
   * What is stored at this moment, past every cache of a process. Without it, the storage is not looked
   * at.
   */
  readonly peek?: (threadId?: string) => Promise<AgentState | undefined>;
}

/** The options of the agent that lives the story, in one process. */
export function partsOf(
  story: Story,
  world: World,
): Omit<CoreAgentOptions, "model" | "checkpointer"> & { model: Model } {
  const { told } = world;
  const hook = (name: string) => () => world.point(`hook ${name}`);
  return {
    model: modelOf(story, world),
    tools: [story.kind === "delegated" ? clerkTool(world) : workTool(story, world)],
    checkpointEveryNIterations: story.every,
    toolLoopThreshold: 100,
    hooks: {
      beforeRun: hook("beforeRun"),
      beforeIteration: hook("beforeIteration"),
      beforeModel: hook("beforeModel"),
      afterModel: ({ message }) => {
        for (const { id } of message.toolCalls ?? []) told.asked.add(id);
        return world.point("hook afterModel");
      },
      beforeTool: hook("beforeTool"),
      afterTool: ({ call }) => {
        told.settled.add(call.id);
        return world.point("hook afterTool");
      },
      afterIteration: hook("afterIteration"),
      afterRun: hook("afterRun"),
    },
    memory: {
      recall: async () => {
        await world.point("memory recall");
        return [];
      },
      remember: () => world.point("memory remember"),
    },
  };
}

/** Two rounds of calls, then the answer. Decided by what it is shown, as a model does: it remembers nothing itself. */
function modelOf(story: Story, { point, faults }: World): Model {
  return {
    id: "story",
    async *stream(request) {
      check(request, faults);
      await point("model asked");
      for (const part of partsFor(story, request)) {
        yield part;
        await point(`model said ${part.type}`);
      }
    },
  };
}

export function check({ messages }: ModelRequest, faults: string[]): void {
  try {
    assertValidForOpenAI(messages);
    assertValidForAnthropic(messages);
  } catch (error) {
    faults.push(String(error));
  }
}

function partsFor({ tools }: Story, { messages }: ModelRequest): readonly ModelPart[] {
  const turn = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[turn] === undefined ? "" : textOf(messages[turn]);
  const rounds = messages.slice(turn).filter((message) => message.role === "assistant").length;
  if (prompt !== PROMPT || tools === 0 || rounds >= ROUNDS) {
    const words = (prompt === PROMPT ? ANSWER : LATER_ANSWER).split(/(?<= )/);
    return [
      ...words.map((text) => ({ type: "text-delta" as const, part: 0, text })),
      { type: "finish", reason: "stop", usage: NO_USAGE },
    ];
  }
  const calls = Array.from({ length: tools }, (_, index) => ({
    type: "tool-call" as const,
    id: `round-${rounds + 1}-call-${index + 1}`,
    name: "work",
    argumentsText: JSON.stringify({ n: rounds * tools + index + 1 }),
  }));
  return [...calls, { type: "finish", reason: "tool-calls", usage: NO_USAGE }];
}

export const resultFor = (n: number): string => `did ${n}`;

function effectOf(kind: Kind): ToolEffect {
  if (kind === "retried") return "idempotent";
  return kind === "pure" || kind === "idempotent" ? kind : "atMostOnce";
}

function workTool({ kind }: Story, world: World): Tool {
  const { point, effects } = world;
  const effect = effectOf(kind);
  return tool({
    name: "work",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    effect,
    needsApproval: kind === "approved",
    // The first attempt at each call fails, and the pause is short.
    ...(kind === "retried" && { retry: { attempts: 4, backoff: 1 } }),
    ...(kind === "verified" && { verify: verifier(effects, point) }),
    execute: async (input, context) => {
      const { n } = input as { n: number };
      if (effect !== "pure") await checkClaim(world, context);
      await point("tool begun");
      if (kind === "paused" && (await context.interrupt({ question: `may I do ${n}?` })) !== "yes") return "refused";
      // Siblings overlap: the first call acts last.
      for (let turn = n; turn < 4; turn++) await Promise.resolve();
      await point("tool about to act");
      const { toolCallId, idempotencyKey: key, attempt } = context;
      if (kind === "retried" && attempt === 1) throw new Error("not yet");
      if (kind === "approved" && !world.told.answered.has(`${toolCallId}/approval`)) {
        world.faults.push(`call ${toolCallId} acts without approval`);
      }
      if (kind !== "pure") effects.add({ toolCallId, n, key, attempt });
      await point("tool acted");
      if (kind === "background") return context.later({ deadlineMs: 3_600_000 });
      return resultFor(n);
    },
  });
}

/** A tool that has effects must find its own beginning in the storage, or a crash would let it act again. */
export async function checkClaim({ peek, faults }: World, context: ToolContext): Promise<void> {
  const { toolCallId, attempt, threadId } = context;
  if (peek === undefined) return;
  const execution = (await peek(threadId))?.toolExecutions.find((entry) => entry.toolCallId === toolCallId);
  if (execution?.status === "started" && execution.attempts === attempt) return;
  faults.push(`call ${toolCallId} begins attempt ${attempt}, but the storage has it as ${JSON.stringify(execution)}`);
}

/** Looks the key up where the effects are, as a tool would ask the service that it called. */
const verifier =
  (effects: Effects, point: AwaitPoint) =>
  async (input: unknown, { idempotencyKey }: ToolContext) => {
    await point("tool verifies");
    const isDone = effects.all().some(({ key }) => key === idempotencyKey);
    if (!isDone) return { outcome: "not-done" } as const;
    return { outcome: "done", result: resultFor((input as { n: number }).n) } as const;
  };
