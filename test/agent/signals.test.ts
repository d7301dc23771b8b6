import { expect, test } from "vitest";
import type { CoreAgent } from "../../src/agent/agent.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

/** Runs something while many things are under way, and gives back what Node had to complain about. */
async function warningsDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error): number => warnings.push(`${name}: ${message}`);
  process.on("warning", onWarning);
  await work();
  // Warnings are emitted by the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  return warnings;
}

/** An agent whose tool goes on when `count` calls of it are under way at once. */
function crowd(count: number, perRun: number): CoreAgent {
  const all = gate();
  let running = 0;
  const work = tool({
    name: "work",
    execute: () => {
      if (++running === count) all.open();
      return all.opened;
    },
  });
  const toolCalls = Array.from({ length: perRun }, () => ({ name: "work" }));
  const model = scriptedModel(
    Array.from(
      { length: (count / perRun) * 2 },
      () =>
        ({ messages }) =>
          messages.length > 1 ? "done" : { toolCalls },
    ),
  );
  return agentOf({ model, tools: [work], toolConcurrency: count });
}

test("many runs at once do not look like a leak of listeners", async () => {
  const agent = crowd(30, 1);
  const runs = async (): Promise<unknown> => Promise.all(Array.from({ length: 30 }, () => agent.run("go")));
  expect(await warningsDuring(runs)).toEqual([]);
});

test("many runs at once that share a signal of the caller's do not either", async () => {
  const { signal } = new AbortController();
  const agent = crowd(30, 1);
  const runs = async (): Promise<unknown> => Promise.all(Array.from({ length: 30 }, () => agent.run("go", { signal })));
  expect(await warningsDuring(runs)).toEqual([]);
});

test("many calls of one message do not either", async () => {
  const { signal } = new AbortController();
  expect(await warningsDuring(async () => crowd(30, 30).run("go", { signal }))).toEqual([]);
});

test("a run listens to no signal of the process, nor to its end: those are the program's", async () => {
  const heard = (): readonly unknown[] =>
    ["SIGINT", "SIGTERM", "SIGHUP", "beforeExit", "exit"].map((event) => process.listeners(event as "SIGINT"));
  const before = heard();
  const during: (readonly unknown[])[] = [];
  const look = tool({ name: "look", execute: () => void during.push(heard()) });
  const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, "done"]);
  const checkpointer = new MemoryStore().open();
  await agentOf({ model, tools: [look], checkpointer }).run("go", { threadId: "t" });
  expect(during).toEqual([before]);
});
