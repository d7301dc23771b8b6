import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

describe("drain", () => {
  test("lets the run finish its iteration, saves and stops; a fresh agent goes on", async () => {
    const store = new MemoryStore();
    const [running, go] = [gate(), gate()];
    const work = tool({
      name: "work",
      execute: async () => {
        running.open();
        await go.opened;
        return "done";
      },
    });
    const agent = agentOf({
      model: scriptedModel([{ toolCalls: [{ name: "work" }] }, "never asked"]),
      checkpointer: store.open(),
      tools: [work],
    });
    const run = agent.run("go", { threadId: "t" });
    await running.opened;
    const drained = agent.drain();
    go.open();
    await drained;
    expect(await run).toMatchObject({ stopReason: "drained" });
    expect(await store.lines()).toEqual(["user: go", "assistant: (calls work)", "tool: done"]);
    const fresh = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [work] });
    expect(await fresh.run(undefined, { threadId: "t" })).toMatchObject({ text: "ready" });
  });

  test("waits for a run that began in the same turn, though the code that runs it is still being loaded", async () => {
    const agent = agentOf({ model: scriptedModel(["never asked"]) });
    const run = agent.run("go");
    await agent.drain();
    const stillRunning = new Promise((resolve) => setImmediate(() => resolve({ stopReason: "still running" })));
    expect(await Promise.race([run, stillRunning])).toMatchObject({ stopReason: "drained" });
  });

  test("refuses new runs with CLOSED", async () => {
    const agent = agentOf({ model: scriptedModel([]) });
    await agent.drain();
    expect(() => agent.run("go")).toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  test("also ends when a run fails, and may be called twice", async () => {
    const [asked, fail] = [gate(), gate()];
    const model = scriptedModel([
      async () => {
        asked.open();
        await fail.opened;
        return new Error("no");
      },
    ]);
    const agent = agentOf({ model });
    const events = eventsOf(agent.run("go"));
    await asked.opened;
    const drains = [agent.drain(), agent.drain()];
    fail.open();
    await Promise.all(drains);
    expect(ofType(await events, "run-end")).toEqual([]);
  });
});
