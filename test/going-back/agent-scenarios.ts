import { expect } from "vitest";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { textOf } from "../../src/state/message.ts";
import { loaded } from "../../src/testing/checkpointer-cases/conversations.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "../agent/agent-of.ts";
import { gate } from "../agent/gate.ts";
import { failureOf } from "../failure-of.ts";
import type { Scenario, World } from "./world.ts";

const agent = (checkpointer: Checkpointer, steps: readonly ScriptStep[], tools: readonly Tool[] = []) =>
  agentOf({ model: scriptedModel(steps), checkpointer, tools, lease: { ttlMs: 3_000, waitMs: 60_000 } });

/** To every process the thread holds these messages and nothing else, whole, and without a fault. */
async function expectLines({ live, other }: World, threadId: string, lines: readonly string[]): Promise<void> {
  for (const { checkpointer } of [live, await other()]) {
    const state = await loaded(checkpointer, threadId);
    expect(state.messages.map((message) => `${message.role}: ${textOf(message)}`)).toEqual(lines);
    for await (const { checkpointId } of checkpointer.history(threadId)) {
      const then = (await loaded(checkpointer, threadId, { checkpointId })).messages;
      expect(then.map(textOf)).toEqual(state.messages.slice(0, then.length).map(textOf));
    }
    expect((await checkpointer.verify(threadId))?.faults).toEqual([]);
  }
}

export const agentScenarios: readonly Scenario[] = [
  {
    name: "a run whose thread went back while its model thought ends with CONFLICT, and the next one goes on from what is there",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      await agent(checkpointer, ["one"]).run("1", { threadId: t });
      yield;
      const [asked, go] = [gate(), gate()];
      const answer: ScriptStep = async () => {
        asked.open();
        await go.opened;
        return "lost too";
      };
      await agent(checkpointer, ["lost"]).run("lost 1", { threadId: t });
      const running = agent(checkpointer, [answer]).run("lost 2", { threadId: t });
      const failing = failureOf(() => running);
      await asked.opened;
      yield;
      const { checkpointer: others } = await world.other();
      await agent(others, ["two"]).run("2", { threadId: t });
      go.open();
      expect((await failing).code).toBe("CONFLICT");
      const lines = ["user: 1", "assistant: one", "user: 2", "assistant: two"];
      await expectLines(world, t, lines);
      await agent(checkpointer, ["three"]).run("3", { threadId: t });
      await expectLines(world, t, [...lines, "user: 3", "assistant: three"]);
    },
  },
  {
    name: "a run whose thread went back while its tool worked ends with CONFLICT, and its call is in no history",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      await agent(checkpointer, ["one"]).run("1", { threadId: t });
      yield;
      const [begun, go] = [gate(), gate()];
      let done = 0;
      const work = tool({
        name: "work",
        execute: async () => {
          begun.open();
          await go.opened;
          return ++done;
        },
      });
      const steps = [{ toolCalls: [{ name: "work" }] }, "lost too"];
      const failing = failureOf(() => agent(checkpointer, steps, [work]).run("lost", { threadId: t }));
      await begun.opened;
      yield;
      const { checkpointer: others } = await world.other();
      await agent(others, ["two"]).run("2", { threadId: t });
      go.open();
      expect((await failing).code).toBe("CONFLICT");
      expect(done).toBe(1);
      const lines = ["user: 1", "assistant: one", "user: 2", "assistant: two"];
      await expectLines(world, t, lines);
      expect((await loaded(checkpointer, t)).toolExecutions).toEqual([]);
      await agent(checkpointer, ["three"]).run("3", { threadId: t });
      await expectLines(world, t, [...lines, "user: 3", "assistant: three"]);
    },
  },
  {
    name: "a question whose answer was lost waits again, and is answered as it is there",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const painted: string[] = [];
      const paint = tool({
        name: "paint",
        execute: async (_, { interrupt }) => {
          const colour = await interrupt({ question: "which colour?" });
          painted.push(String(colour));
          return colour;
        },
      });
      const asking: ScriptStep = { toolCalls: [{ name: "paint", id: "paint" }] };
      const own = agent(checkpointer, [asking, "lost", "ready"], [paint]);
      const { pending } = await own.run("go", { threadId: t });
      const interruptId = pending[0]?.id ?? "";
      yield;
      await own.answer({ threadId: t, id: interruptId, response: "red" });
      yield;
      await world.other();
      expect((await loaded(checkpointer, t)).interrupts.map(({ id }) => id)).toEqual([interruptId]);
      await own.answer({ threadId: t, id: interruptId, response: "blue" });
      expect(painted).toEqual(["red", "blue"]);
      await expectLines(world, t, ["user: go", "assistant: ", "tool: blue", "assistant: ready"]);
    },
  },
  {
    name: "a run that ended is not there, also to the agent that ran it, and its question can be asked again",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      const own = agent(checkpointer, ["one", "lost", "again"]);
      await own.run("1", { threadId: t });
      yield;
      await own.run("2", { threadId: t });
      yield;
      await world.other();
      await own.run("2", { threadId: t });
      await expectLines(world, t, ["user: 1", "assistant: one", "user: 2", "assistant: again"]);
    },
  },
  {
    name: "a thread that a lost run made is made by the next one",
    run: async function* (world, t) {
      const { checkpointer } = world.live;
      yield;
      const [asked, go] = [gate(), gate()];
      const answer: ScriptStep = async () => {
        asked.open();
        await go.opened;
        return "lost";
      };
      const failing = failureOf(() => agent(checkpointer, [answer]).run("lost", { threadId: t }));
      await asked.opened;
      yield;
      const { checkpointer: others } = await world.other();
      await agent(others, ["one"]).run("1", { threadId: t });
      go.open();
      expect((await failing).code).toBe("CONFLICT");
      await expectLines(world, t, ["user: 1", "assistant: one"]);
    },
  },
];
