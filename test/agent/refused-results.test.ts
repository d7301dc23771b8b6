import { describe, expect, test } from "vitest";
import type { RunError } from "../../src/agent/run/run-error.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { toolContent } from "../../src/agent/tool-call/tool-result.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { refuseSecrets } from "../../src/state/secrets.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { smallRecords } from "../small-records-log.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { linesOf } from "./stored-thread.ts";

const secret = `sk-proj-${"aB3".repeat(20)}`;
const storages = {
  "is too large for it": {
    open: () => new Checkpointer(smallRecords(new MemoryLog(), 20_000).log),
    words: "x".repeat(40_000),
    code: "TOO_LARGE",
  },
  "holds a secret that it refuses": {
    open: () => new Checkpointer(new MemoryLog(), { redact: refuseSecrets }),
    words: `the key is ${secret}`,
    code: "INVALID_ARGUMENT",
  },
};

describe.each(Object.entries(storages))("what %s", (_, { open, words, code }) => {
  const stored = async (checkpointer: Checkpointer) => (await checkpointer.load("t"))!;

  test("as a prompt: fails that run and no later one of the process", async () => {
    const checkpointer = open();
    const agent = agentOf({ model: scriptedModel(["hello", "hello"]), checkpointer });
    const error = (await failureOf(() => agent.run(words, { threadId: "t" }))) as RunError;
    expect(error.code).toBe(code);
    await expect(agent.settle(error)).rejects.toMatchObject({ code });
    expect(await agent.run("hi", { threadId: "t" })).toMatchObject({ text: "hello" });
    expect(linesOf(await stored(checkpointer))).toEqual(["user: hi", "assistant: hello"]);
  });

  test.each([
    ["text", () => words],
    ["parts", () => toolContent([{ type: "text", text: words }], { words })],
    [
      "an error",
      () => {
        throw new Error(words);
      },
    ],
  ])("as the result of a payment (%s): it is settled without it, once, and the model is told", async (kind, result) => {
    const checkpointer = open();
    let paid = 0;
    const pay = tool({
      name: "pay",
      execute: () => {
        paid++;
        return result();
      },
    });
    const look = tool({ name: "look", execute: () => "seen" });
    const model = scriptedModel([{ toolCalls: [{ name: "pay" }, { name: "look" }] }, "ready", "hello"]);
    const agent = agentOf({ model, checkpointer, tools: [pay, look] });
    const run = agent.run("go", { threadId: "t" });
    expect(ofType(await eventsOf(run), "warning")).toContainEqual(
      expect.objectContaining({ where: "save", error: expect.objectContaining({ code }) }),
    );
    expect(await run).toMatchObject({ text: "ready" });
    const { toolExecutions, artifacts, messages } = await stored(checkpointer);
    expect(toolExecutions.map(({ status }) => status)).toEqual([
      kind === "an error" ? "failed" : "succeeded",
      "succeeded",
    ]);
    expect({ paid, artifacts }).toEqual({ paid: 1, artifacts: {} });
    const told = linesOf({ messages }).filter((line) => line.startsWith("tool"));
    expect(told.toSorted()).toEqual([expect.stringContaining("what it brought was not kept"), "tool: seen"]);
    expect(await agent.run("and?", { threadId: "t" })).toMatchObject({ text: "hello" });
  });
});

test("two results that fit one by one and not together: only as much is left out as need be", async () => {
  const checkpointer = new Checkpointer(smallRecords(new MemoryLog(), 20_000).log);
  const say = tool({
    name: "say",
    inputSchema: { type: "object" },
    execute: (input) => "x".repeat((input as { size: number }).size),
  });
  const toolCalls = [12_000, 11_000].map((size) => ({ name: "say", arguments: { size } }));
  const agent = agentOf({ model: scriptedModel([{ toolCalls }, "ready"]), checkpointer, tools: [say] });
  await agent.run("go", { threadId: "t" });
  const { messages } = (await checkpointer.load("t"))!;
  const kept = messages.filter(({ role, content }) => role === "tool" && content.length > 10_000);
  expect(kept.length).toBeGreaterThanOrEqual(1);
});
