import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import type { CoreAgent } from "../../src/agent/agent.ts";
import { fromUIMessage, signalFromUIMessage, toUIMessages } from "../../src/agent/page/ui-messages.ts";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import type { Model } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { recordingSdkModel } from "../providers/recording-sdk-model.ts";
import { agentOf } from "./agent-of.ts";
import { gate } from "./gate.ts";
import { MemoryStore } from "./stored-thread.ts";

/** `useChat`'s own transport, whose requests go to this process's handlers as a server would route them. */
function transportTo(agent: CoreAgent) {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input), "http://page.test");
    if ((init?.method ?? "GET") === "GET") return agent.thread(url.pathname.split("/")[3]!).toResponse({ pollMs: 5 });
    const { id, messages } = JSON.parse(String(init?.body)) as { id: string; messages: unknown[] };
    return agent.run(fromUIMessage(messages.at(-1)), { threadId: id }).toResponse();
  };
  return new DefaultChatTransport<UIMessage>({ api: "/api/chat", fetch });
}

const say = (text: string, id = "m1"): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

const send = (agent: CoreAgent, message: UIMessage) =>
  transportTo(agent).sendMessages({
    trigger: "submit-message",
    chatId: "t",
    messageId: undefined,
    messages: [message],
    abortSignal: undefined,
  });

const reconnect = (agent: CoreAgent) => transportTo(agent).reconnectToStream({ chatId: "t" });

/** The message that a page ends with, put together by the AI SDK's own parser, and how it looked on the way. */
async function pageOf(
  stream: ReadableStream<UIMessageChunk>,
  message?: UIMessage,
): Promise<{ last: UIMessage; seen: UIMessage[] }> {
  const seen: UIMessage[] = [];
  const start = message === undefined ? {} : { message };
  for await (const shown of readUIMessageStream({ stream, ...start, terminateOnError: true })) {
    seen.push(structuredClone(shown));
  }
  return { last: seen.at(-1)!, seen };
}

const SCRIPT: readonly ScriptStep[] = [
  { reasoning: "Let me look.", text: "One moment.", toolCalls: [{ name: "look", id: "c1", arguments: { q: 7 } }] },
  "It is there.",
];
const look = (execute: Parameters<typeof tool>[0]["execute"] = () => ({ found: true })): Tool =>
  tool({ name: "look", effect: "idempotent", inputSchema: { type: "object" }, execute });

function setUp(model: Model = scriptedModel(SCRIPT), tools: readonly Tool[] = [look()], store = new MemoryStore()) {
  return { store, agent: agentOf({ model, tools, checkpointer: store.open() }) };
}

describe("a run on a page", () => {
  test("useChat's transport and the AI SDK's parser read the whole turn", async () => {
    const { agent, store } = setUp();
    const { last } = await pageOf(await send(agent, say("where?")));
    expect(last).toMatchObject({
      id: "turn-1",
      role: "assistant",
      metadata: { stopReason: "complete" },
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Let me look.", state: "done" },
        { type: "text", text: "One moment.", state: "done" },
        { type: "tool-look", toolCallId: "c1", state: "output-available", input: { q: 7 }, output: { found: true } },
        { type: "step-start" },
        { type: "text", text: "It is there.", state: "done" },
      ],
    });
    expect(await store.lines()).toHaveLength(4);
  });

  test("words come as the model says them, and reasoning can be left out", async () => {
    const { agent } = setUp();
    const chunks: string[] = [];
    for await (const chunk of agent.run("where?", { threadId: "t" }).toUIMessageStream({ sendReasoning: false })) {
      chunks.push(chunk.type);
    }
    expect(chunks.filter((type) => type === "text-delta")).toHaveLength(5);
    expect(chunks.join()).not.toContain("reasoning");
  });

  test("the arguments of a call are shown while the model writes them", async () => {
    const parts = [
      { type: "tool-input-start", id: "c1", toolName: "look" },
      { type: "tool-input-delta", id: "c1", delta: '{"q":' },
      { type: "tool-input-delta", id: "c1", delta: "7}" },
      { type: "tool-input-end", id: "c1" },
      { type: "tool-call", toolCallId: "c1", toolName: "look", input: '{"q":7}' },
      { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_use" }, usage: {} },
    ];
    const { agent } = setUp(fromAiSdk(recordingSdkModel("v3", parts), { retry: false }), [
      tool({ name: "look", inputSchema: { type: "object" }, terminal: true, execute: () => "seen" }),
    ]);
    const { seen } = await pageOf(await send(agent, say("where?")));
    const states = seen.flatMap(({ parts: all }) => all.flatMap((part) => ("toolCallId" in part ? [part.state] : [])));
    expect([...new Set(states)]).toEqual(["input-streaming", "input-available", "output-available"]);
  });

  test("a tool's progress is a preliminary result, and nothing of it is stored", async () => {
    const { agent, store } = setUp(scriptedModel(SCRIPT), [
      look((_, { progress }) => {
        progress({ percent: 50 });
        return "done";
      }),
    ]);
    const { seen } = await pageOf(await send(agent, say("where?")));
    const outputs = seen.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? [part.output] : [])));
    expect(outputs).toContainEqual({ percent: 50 });
    expect(outputs.at(-1)).toBe("done");
    expect(JSON.stringify((await store.state()).fields)).not.toContain("percent");
  });

  test("a call that needs approval is asked for in the protocol's own way", async () => {
    const pay = tool({ name: "look", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
    const { agent } = setUp(scriptedModel(SCRIPT), [pay]);
    const { last } = await pageOf(await send(agent, say("pay")));
    expect(last.parts.at(-1)).toMatchObject({ state: "approval-requested", approval: { id: "c1/approval" } });
    const resumed = agent.answer({ threadId: "t", id: "c1/approval", response: { decision: "approve" } });
    const { last: after } = await pageOf(resumed.toUIMessageStream() as ReadableStream<UIMessageChunk>, last);
    expect(after).toMatchObject({ id: "turn-1", metadata: { stopReason: "complete" } });
    expect(after.parts.find(({ type }) => type === "tool-look")).toMatchObject({ output: "paid" });
  });

  test("an approval that a person refuses is a denied output, in the stream, on reconnecting and in a page that begins", async () => {
    const pay = tool({ name: "look", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
    const { agent, store } = setUp(scriptedModel(SCRIPT), [pay]);
    const { last } = await pageOf(await send(agent, say("pay")));
    const response = { decision: "deny", reason: "too dear" };
    const resumed = agent.answer({ threadId: "t", id: "c1/approval", response });
    const chunks = resumed.toUIMessageStream() as ReadableStream<UIMessageChunk>;
    const { last: after } = await pageOf(chunks, last);
    expect(after.parts.find(({ type }) => type === "tool-look")).toMatchObject({ state: "output-denied" });
    const followed = agent.thread("t").toUIMessageStream({ pollMs: 5 }) as ReadableStream<UIMessageChunk>;
    const { last: again } = await pageOf(followed);
    expect(again.parts.find(({ type }) => type === "tool-look")).toMatchObject({ state: "output-denied" });
    const [, begun] = toUIMessages(await store.state());
    expect(begun?.parts.find(({ type }) => type === "tool-look")).toMatchObject({
      state: "output-denied",
      approval: { id: "c1/approval", approved: false, reason: "too dear" },
    });
  });

  test("a failure is told to the page without its words, and thrown by the run", async () => {
    const { agent } = setUp(scriptedModel([new ModelError("the key sk-1 is wrong", { retryable: false })]));
    const run = agent.run("where?", { threadId: "t" });
    const text = await run.toResponse().text();
    expect(text).toContain('"errorText":"The run failed (MODEL_FAILED)."');
    expect(text).not.toContain("sk-1");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    await expect(run).rejects.toThrow("sk-1");
  });

  test("a page that leaves does not stop the run", async () => {
    const { agent, store } = setUp();
    const run = agent.run("where?", { threadId: "t" });
    await run.toUIMessageStream().cancel();
    expect((await run).stopReason).toBe("complete");
    expect(await store.lines()).toHaveLength(4);
  });

  test("the same message sent twice by a page is answered once", async () => {
    const { agent, store } = setUp();
    await pageOf(await send(agent, say("where?")));
    await pageOf(await send(agent, say("where?")));
    expect(await store.lines()).toHaveLength(4);
  });
});

describe("a page that reconnects", () => {
  test("where nothing is under way there is no stream", async () => {
    const { agent } = setUp();
    expect(await reconnect(agent)).toBeNull();
    await agent.run("where?", { threadId: "t" });
    expect(await reconnect(agent)).toBeNull();
  });

  test("is shown what is there and what comes, by another process than the one at work", async () => {
    const held = gate();
    const begun = gate();
    const slow = look(async () => {
      begun.open();
      await held.opened;
      return { found: true };
    });
    const { agent, store } = setUp(scriptedModel(SCRIPT), [slow]);
    const run = agent.run("where?", { threadId: "t" });
    await begun.opened;
    const elsewhere = agentOf({ model: scriptedModel([]), tools: [slow], checkpointer: store.open() });
    const stream = await reconnect(elsewhere);
    const page = pageOf(stream!);
    held.open();
    await run;
    const { last } = await page;
    const stored = toUIMessages(await store.state()).at(-1);
    expect(last.parts).toMatchObject(stored?.parts ?? []);
    expect(last.id).toBe(stored?.id);
  });

  test("killed server: the page reconnects to another one, which goes on, and sees the turn once", async () => {
    const begun = gate();
    let calls = 0;
    const hang = look(() => {
      calls++;
      begun.open();
      return new Promise(() => undefined);
    });
    const { agent, store } = setUp(scriptedModel(SCRIPT), [hang]);
    const lost = await send(agent, say("where?"));
    await begun.opened;
    await lost.cancel();
    store.killAll();
    const next = agentOf({
      model: scriptedModel(["It is there."]),
      tools: [look(() => ++calls)],
      checkpointer: store.open(),
    });
    const page = pageOf((await reconnect(next))!);
    await next.recover({ olderThanMs: 0 });
    const { last } = await page;
    expect(last.parts).toMatchObject(toUIMessages(await store.state()).at(-1)?.parts ?? []);
    expect(last.parts.filter(({ type }) => type === "text")).toHaveLength(2);
    expect(calls).toBe(2);
  });

  test("its stream ends when the turn waits for a person", async () => {
    const pay = tool({ name: "look", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
    const { agent } = setUp(scriptedModel(SCRIPT), [pay]);
    await agent.run("pay", { threadId: "t" });
    const { last } = await pageOf(agent.thread("t").toUIMessageStream() as ReadableStream<UIMessageChunk>);
    expect(last).toMatchObject({ metadata: { stopReason: "pending" } });
    expect(await reconnect(agent)).toBeNull();
  });
});

describe("what a page holds", () => {
  test("a thread is shown to a page that opens it as the stream showed it", async () => {
    const { agent } = setUp();
    const { last } = await pageOf(await send(agent, say("where?", "m9")));
    const [asked, answered] = await agent.thread("t").uiMessages();
    expect(asked).toEqual({ id: "m9", role: "user", parts: [{ type: "text", text: "where?", state: "done" }] });
    expect(last.parts).toMatchObject(answered?.parts ?? []);
    expect(answered?.parts).toHaveLength(last.parts.length);
  });

  test("a decision that a page sends is a signal; the same one sent again counts once", async () => {
    const pay = tool({ name: "look", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
    const ship = tool({ name: "ship", execute: (_, { later }) => later() });
    const steps = [
      {
        toolCalls: [
          { name: "look", id: "c1" },
          { name: "ship", id: "s" },
        ],
      },
      "done",
    ];
    const { agent } = setUp(scriptedModel(steps), [pay, ship]);
    await agent.run("pay", { threadId: "t" });
    const thread = agent.thread("t");
    const [, begun] = await thread.uiMessages();
    expect(begun?.parts.filter(({ type }) => type !== "step-start")).toMatchObject([
      { type: "tool-look", state: "approval-requested", approval: { id: "c1/approval" } },
      { type: "tool-ship", state: "input-available" },
      { type: "data-pending", id: "s/result", data: { kind: "external", toolCallId: "s" } },
    ]);
    const parts = begun?.parts.map((part) =>
      part.type === "tool-look"
        ? { ...part, state: "approval-responded", approval: { id: "c1/approval", approved: true } }
        : part,
    );
    const message = { ...begun, parts };
    expect(signalFromUIMessage(message)).toEqual({
      answer: [{ id: "c1/approval", response: { decision: "approve" } }],
    });
    for (let times = 0; times < 2; times++) await thread.send(signalFromUIMessage(message));
    await thread.send({ result: { toolCallId: "s", result: "by rail" } });
    expect((await thread.run()).text).toBe("done");
    expect((await thread.state())?.errors).toEqual([]);
    expect(signalFromUIMessage(say("hi"))).toEqual({ message: fromUIMessage(say("hi")) });
    expect(() => signalFromUIMessage(begun)).toThrow(/no part that answers a request for approval/);
  });

  test("only what a user says is taken from a page", () => {
    expect(fromUIMessage(say("hi"))).toEqual({ role: "user", id: "m1", content: "hi" });
    const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" } as const;
    const { content } = fromUIMessage({ ...say("see"), parts: [...say("see").parts, file] });
    expect(content).toHaveLength(2);
    expect(() => fromUIMessage({ ...say("hi"), role: "assistant" })).toThrow(/not a message of role "assistant"/);
    expect(() => fromUIMessage("hi")).toThrow(/not a string/);
    expect(() => fromUIMessage({ ...say("hi"), parts: [] })).toThrow(/says nothing/);
  });
});
