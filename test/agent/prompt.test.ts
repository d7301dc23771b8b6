import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../src/agent/events.ts";
import type { MemoryPort, RememberContext, ShapeContext } from "../../src/agent/ports.ts";
import type { Run } from "../../src/agent/run.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { type Message, textOf, userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const work = tool({ name: "work", effect: "pure", execute: () => "42" });
const calling = { toolCalls: [{ name: "work" }] };
const remembering = (port: Partial<MemoryPort>): MemoryPort => ({
  recall: async () => [],
  remember: async () => undefined,
  ...port,
});
/** The events up to the end of the run, which may still have something to do. */
async function untilRunEnd(run: Run): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === "run-end") break;
  }
  return events;
}
const boom = (): never => {
  throw new Error("boom");
};

describe("a memory", () => {
  test("learns after the answer was given: the page has its end, and the thread is free", async () => {
    const store = new MemoryStore();
    let learn: () => void = () => undefined;
    const learning = new Promise<void>((resolve) => {
      learn = resolve;
    });
    let isLearnt = false;
    const memory = remembering({
      remember: async () => {
        await learning;
        isLearnt = true;
      },
    });
    const agent = agentOf({ model: scriptedModel(["hello", "again"]), checkpointer: store.open(), memory });
    const first = agent.run("hi", { threadId: "t" });
    const chunks: unknown[] = [];
    for await (const { type } of first.toUIMessageStream()) chunks.push(type);
    expect([chunks.at(-1), isLearnt]).toEqual(["finish", false]);
    const second = agent.run("more", { threadId: "t" });
    const ended = ofType(await untilRunEnd(second), "run-end");
    expect([ended.length, isLearnt]).toEqual([1, false]);
    learn();
    await Promise.all([first, second]);
    expect(isLearnt).toBe(true);
  });

  test("is asked once for each message of the user's, and what it gives stands right before that message", async () => {
    const store = new MemoryStore();
    const asked: string[] = [];
    const memory = remembering({
      recall: async ({ state }) => {
        asked.push(textOf(state.messages.at(-1) as Message));
        return [userMessage(`(note ${asked.length})`)];
      },
    });
    const model = scriptedModel(["hello", calling, calling, "done"]);
    const agent = agentOf({ model, checkpointer: store.open(), memory, tools: [work] });
    await agent.run("hi", { threadId: "t" });
    await agent.run("go", { threadId: "t" });
    expect(asked).toEqual(["hi", "go"]);
    const shown = model.requests.map(({ messages }) => messages.map(textOf));
    expect(shown[1]).toEqual(["hi", "hello", "(note 2)", "go"]);
    for (const later of shown.slice(2)) expect(later.slice(0, 4)).toEqual(shown[1]);
    expect(await store.lines()).not.toContain("user: (note 2)");
  });

  test("that fails to recall is a warning; the model answers without it", async () => {
    const memory = remembering({ recall: async () => boom() });
    const run = agentOf({ model: scriptedModel([calling, "yes"]), tools: [work], memory }).run("go");
    expect(ofType(await eventsOf(run), "warning")).toMatchObject([{ where: "memory" }]);
    expect((await run).text).toBe("yes");
  });

  test("is told, when it is to remember, which checkpoint holds the answer and what it recalled", async () => {
    const store = new MemoryStore();
    const told: RememberContext[] = [];
    const memory = remembering({
      recall: async () => [userMessage("(note)")],
      remember: async (context) => void told.push(context),
    });
    const agent = agentOf({ model: scriptedModel(["yes"]), checkpointer: store.open(), memory });
    const { checkpointId } = await agent.run("go", { threadId: "t" });
    expect(told).toMatchObject([{ threadId: "t", checkpointId, recalled: [{ content: "(note)" }] }]);
  });
});

describe("a conversation port", () => {
  test("gets the thread, the model and what is sent besides, and in the next process its overlay", async () => {
    const store = new MemoryStore();
    const told: ShapeContext[] = [];
    const conversation = {
      shape: async (messages: readonly Message[], context: ShapeContext) => {
        told.push(context);
        return { messages, overlay: { calls: told.length } };
      },
    };
    const options = { conversation, systemPrompt: "Be brief.", tools: [work] };
    for (const prompt of ["a", "b"]) {
      const model = { ...scriptedModel([{ text: "yes", usage: { inputTokens: 7 } }]), contextWindow: 8000 };
      await agentOf({ model, checkpointer: store.open(), ...options }).run(prompt, { threadId: "t" });
    }
    expect(told).toMatchObject([
      { threadId: "t", contextWindow: 8000, system: [{ content: "Be brief." }], tools: [{ name: "work" }] },
      { overlay: { calls: 1 } },
    ]);
    expect((await store.state()).overlay).toEqual({ calls: 2 });
  });

  test("hears what the model counted before the answer is saved", async () => {
    const store = new MemoryStore();
    const conversation = {
      shape: async (messages: readonly Message[]) => messages,
      observe: ({ usage }: { usage: { inputTokens: number } }) => ({ counted: usage.inputTokens }),
    };
    const model = scriptedModel([{ text: "yes", usage: { inputTokens: 7 } }]);
    await agentOf({ model, checkpointer: store.open(), conversation }).run("go", { threadId: "t" });
    expect((await store.state()).overlay).toEqual({ counted: 7 });
  });

  test("that fails to learn from it is a warning", async () => {
    const conversation = { shape: async (messages: readonly Message[]) => messages, observe: boom };
    const run = agentOf({ model: scriptedModel(["yes"]), conversation }).run("go");
    expect(ofType(await eventsOf(run), "warning")).toMatchObject([{ where: "conversation" }]);
    expect((await run).text).toBe("yes");
  });
});
