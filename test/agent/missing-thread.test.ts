import { expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { failureOf } from "../failure-of.ts";

const options = { threadId: undefined } as unknown as { threadId: string };

test("a run whose threadId is undefined is refused by an agent with a checkpointer: a parameter got lost", async () => {
  const agent = new Agent({ model: scriptedModel(["hi"]), checkpointer: new MemoryCheckpointer() });
  expect(() => agent.run("hello", options)).toThrow(TypeError);
  expect(() => agent.run("hello", options)).toThrow(/threadId is undefined.*a parameter of a request is missing/);
  expect(() => agent.run("hello", {})).not.toThrow();
});

test("an agent without a checkpointer keeps nothing anyway", async () => {
  const agent = new Agent({ model: scriptedModel(["hi"]) });
  expect((await agent.run("hello", options)).text).toBe("hi");
});

test("an agent that was closed says so, and one that is draining says that", async () => {
  const agent = new Agent({ model: scriptedModel(["hi"]) });
  await agent.drain();
  expect(() => agent.run("hello")).toThrow(/is draining/);
  await agent.close();
  expect(() => agent.run("hello")).toThrow(/was closed; make a new one/);
});

test("a tool that is not there is answered with the agent's own tools", async () => {
  const asks = { toolCalls: [{ name: "luk", id: "c" }] };
  const look = tool({ name: "look", effect: "pure", execute: () => "seen" });
  const { state } = await new Agent({ model: scriptedModel([asks, "ready"]), tools: [look] }).run("go");
  expect(state.messages[2]?.content).toBe('There is no tool named "luk". Available: look.');
  const bare = await new Agent({ model: scriptedModel([asks, "ready"]) }).run("go");
  expect(bare.state.messages[2]?.content).toBe('There is no tool named "luk". Available: none.');
});

test("a prompt to a thread that waits is refused with every way out", async () => {
  const pay = tool({ name: "pay", needsApproval: true, execute: () => "paid" });
  const agent = new Agent({
    model: scriptedModel([{ toolCalls: [{ name: "pay", id: "c" }] }]),
    tools: [pay],
    checkpointer: new MemoryCheckpointer(),
  });
  await agent.run("go", { threadId: "t" });
  const failure = await failureOf(() => agent.run("and?", { threadId: "t" }));
  expect(failure).toMatchObject({ code: "PENDING", message: expect.stringMatching(/answer.*declinePending/) });
});
