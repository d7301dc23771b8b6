import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import type { CoreAgent } from "../../src/agent/agent.ts";
import { fromUIMessage } from "../../src/agent/page/ui-messages.ts";
import { ToolFailure } from "../../src/agent/page/ui-stream.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const said = { id: "m1", role: "user", parts: [{ type: "text", text: "go" }] } as const;
const send = (agent: CoreAgent) => agent.run(fromUIMessage(said), { threadId: "t" });

/** The message that a page ends with, as the AI SDK's own parser puts it together. */
async function pageOf(stream: ReadableStream<unknown>): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  for await (const shown of readUIMessageStream({ stream: stream as ReadableStream<UIMessageChunk> })) {
    last = structuredClone(shown);
  }
  return last;
}

async function chunksOf(stream: ReadableStream<unknown>): Promise<readonly Record<string, unknown>[]> {
  const chunks: Record<string, unknown>[] = [];
  for await (const chunk of stream) chunks.push(chunk as Record<string, unknown>);
  return chunks;
}

const call = (name: string): ScriptStep => ({
  text: "One moment.",
  toolCalls: [{ name, id: "c1", arguments: { q: 7 } }],
});
const inputSchema = { type: "object" } as const;

test("a message that is sent again streams the whole answer of its turn, from any process", async () => {
  const store = new MemoryStore();
  const look = tool({ name: "look", inputSchema, effect: "pure", execute: () => ({ found: true }) });
  const first = agentOf({
    model: scriptedModel([call("look"), "It is there."]),
    tools: [look],
    checkpointer: store.open(),
  });
  const shown = await pageOf(send(first).toUIMessageStream());
  const again = agentOf({ model: scriptedModel([]), tools: [look], checkpointer: store.open() });
  expect(await pageOf(send(again).toUIMessageStream())).toEqual(shown);
  // Also once the user went on.
  const later = agentOf({ model: scriptedModel(["later"]), tools: [look], checkpointer: store.open() });
  await later.run("more", { threadId: "t" });
  expect((await pageOf(send(later).toUIMessageStream()))?.parts).toEqual(shown?.parts);
});

test("a message that is sent again after a crash streams what there was, and then the rest", async () => {
  const store = new MemoryStore();
  const look = tool({ name: "look", inputSchema, effect: "pure", execute: () => ({ found: true }) });
  const broken = agentOf({
    model: scriptedModel([call("look"), new ModelError("down", { retryable: false })]),
    tools: [look],
    checkpointer: store.open(),
  });
  await expect(send(broken)).rejects.toThrow("down");
  const next = agentOf({ model: scriptedModel(["It is there."]), tools: [look], checkpointer: store.open() });
  const page = await pageOf(send(next).toUIMessageStream());
  expect(page?.parts.filter(({ type }) => type !== "step-start")).toMatchObject([
    { type: "text", text: "One moment." },
    { type: "tool-look", state: "output-available", input: { q: 7 }, output: { found: true } },
    { type: "text", text: "It is there." },
  ]);
});

test("what a tool throws reaches a page as the program puts it, and by itself says nothing", async () => {
  const store = new MemoryStore();
  const look = tool({
    name: "look",
    inputSchema,
    execute: () => {
      throw new Error("connect postgres://app:hunter2@db.internal failed");
    },
  });
  const agent = agentOf({ model: scriptedModel([call("look"), "Sorry."]), tools: [look], checkpointer: store.open() });
  const page = await pageOf(send(agent).toUIMessageStream());
  expect(JSON.stringify(page)).not.toContain("hunter2");
  expect(page?.parts).toContainEqual(expect.objectContaining({ state: "output-error", errorText: "The call failed." }));
  expect(JSON.stringify(await agent.thread("t").uiMessages())).not.toContain("hunter2");
  const onError = (error: unknown): string => (error instanceof ToolFailure ? `${error.toolName} is away` : "no");
  expect(JSON.stringify(await agent.thread("t").uiMessages({ onError }))).toContain("look is away");
  expect(JSON.stringify(await chunksOf(send(agent).toUIMessageStream({ onError })))).toContain("look is away");
});

test.each([[42], ["42"], [true], ["true"], [null], ["a text"], ['"quoted"'], [[1, 2]]])(
  "a result of %j is that on a page, when it comes and after a reload",
  async (result) => {
    const store = new MemoryStore();
    const look = tool({ name: "look", inputSchema, effect: "pure", execute: () => result });
    const agent = agentOf({ model: scriptedModel([call("look"), "ok"]), tools: [look], checkpointer: store.open() });
    const output = expect.objectContaining({ state: "output-available", output: result });
    expect((await pageOf(send(agent).toUIMessageStream()))?.parts).toContainEqual(output);
    expect((await agent.thread("t").uiMessages())[1]?.parts).toContainEqual(output);
  },
);

test("a call that a person denies keeps its input on the page", async () => {
  const store = new MemoryStore();
  const pay = tool({ name: "pay", inputSchema, needsApproval: true, execute: () => "paid" });
  const open = () => agentOf({ model: scriptedModel(["As you like."]), tools: [pay], checkpointer: store.open() });
  await agentOf({ model: scriptedModel([call("pay")]), tools: [pay], checkpointer: store.open() }).run("go", {
    threadId: "t",
  });
  const run = open().answer({ threadId: "t", id: "c1/approval", response: { decision: "deny" } });
  const chunks = await chunksOf(run.toUIMessageStream());
  expect(chunks).toContainEqual(expect.objectContaining({ type: "tool-input-available", input: { q: 7 } }));
  expect(chunks).toContainEqual({ type: "tool-output-denied", toolCallId: "c1" });
});

test("retries and sub-agents are data that a page may show while it comes", async () => {
  const store = new MemoryStore();
  let tries = 0;
  const flaky = tool({
    name: "flaky",
    inputSchema,
    effect: "idempotent",
    retry: { attempts: 2, backoff: 1 },
    execute: () => {
      if (++tries === 1) throw new Error("once");
      return "done";
    },
  });
  const child = agentOf({ model: scriptedModel(["found it"]) }).asTool({ name: "search", description: "searches" });
  const agent = agentOf({
    model: scriptedModel([
      { toolCalls: [{ name: "flaky", id: "c1" }] },
      { toolCalls: [{ name: "search", id: "c2", arguments: { prompt: "look" } }] },
      "done",
    ]),
    tools: [flaky, child],
    checkpointer: store.open(),
  });
  const chunks = await chunksOf(send(agent).toUIMessageStream());
  expect(chunks).toContainEqual(expect.objectContaining({ type: "data-retry", id: "c1", transient: true }));
  const words = chunks.flatMap(({ type, data }) =>
    type === "data-sub-agent" ? ((data as { text?: string }).text ?? "") : [],
  );
  expect(words.join("")).toBe("found it");
});
