import { afterEach, expect, test, vi } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { GrownList } from "../../src/state/values/grown-list.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("a run puts a long conversation together for what it shows to the model, and for nothing else", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  const said = Array.from({ length: 2500 }, (_, index) => [userMessage(`q ${index}`), assistantMessage(`a ${index}`)]);
  await checkpointer.save(AgentState.create({ messages: said.flat() }), "t");
  const work = tool({ name: "work", execute: () => "done" });
  const calls = { toolCalls: [1, 2, 3].map((n) => ({ name: "work", arguments: { n } })) };
  const model = scriptedModel([calls, calls, "ready"]);
  const reads = vi.spyOn(GrownList.prototype, "list");
  await agentOf({ model, checkpointer, tools: [work] }).run("go", { threadId: "t" });
  const lists = new Set(reads.mock.results.map(({ value }) => value as readonly unknown[]));
  // Once for each question to the model, and once for the last words, which the result of the run holds.
  expect([...lists].map(({ length }) => length)).toEqual([5001, 5005, 5009, 5010]);
  expect((await checkpointer.load("t"))?.messages).toHaveLength(5000 + 1 + 2 * 4 + 1);
});
