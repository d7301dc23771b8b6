import { describe, expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { fromAiSdk, isAiSdkModel } from "../../src/providers/ai-sdk/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, systemMessage, textOf, userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { LOOKUP, takeTurn } from "./conversation.ts";
import { startFakeAnthropic } from "./fake-anthropic.ts";
import { startFakeOpenAI } from "./fake-openai.ts";
import type { FakeBlock, FakeReply } from "./fake-provider.ts";
import { PROVIDER_LINES } from "./provider-lines.ts";

const started = AgentState.create({
  messages: [systemMessage("You are on call."), userMessage("What was deployed?")],
});
/** The same of every package of every generation. */
const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 };
const call = (id: string, service: string): FakeBlock => ({
  type: "tool-call",
  id,
  name: "lookup",
  arguments: { service },
});

/** Thought, words and two calls at once; then words; then, to a second question, a call and words. */
const SCRIPT: readonly FakeReply[] = [
  {
    blocks: [
      { type: "reasoning", text: "Two services." },
      { type: "text", text: "I look." },
      call("call_1", "checkout"),
      call("call_2", "cart"),
    ],
  },
  {
    blocks: [
      { type: "reasoning", text: "" },
      { type: "text", text: "Both at 13:58." },
    ],
  },
  { blocks: [{ type: "reasoning", text: "Again." }, call("call_3", "search")] },
  { blocks: [{ type: "text", text: "Search too." }] },
];

describe.each(PROVIDER_LINES)("the AI SDK's real packages, specification $version", (line) => {
  const stored = { openai: { store: true } };
  const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
  // AI SDK 5 does not count what Anthropic read from its cache.
  const variants = [
    {
      name: "OpenAI responses, nothing stored",
      open: line.responses,
      start: startFakeOpenAI,
      providerOptions: {},
      usage,
    },
    {
      name: "OpenAI responses, stored items named",
      open: line.responses,
      start: startFakeOpenAI,
      providerOptions: stored,
      usage,
    },
    { name: "OpenAI chat completions", open: line.chat, start: startFakeOpenAI, providerOptions: {}, usage },
    {
      name: "Anthropic, thinking",
      open: line.anthropic,
      start: startFakeAnthropic,
      providerOptions: thinking,
      usage,
    },
  ];

  test.each(variants)(
    "$name: a conversation with tools goes on through checkpoints and is never refused",
    async (variant) => {
      await using fake = await variant.start(SCRIPT);
      const sdkModel = variant.open(fake.url);
      expect(isAiSdkModel(sdkModel)).toBe(true);
      const model = fromAiSdk(sdkModel, { providerOptions: variant.providerOptions, retry: false });
      const first = await takeTurn(model, started);
      expect(first.answer.toolCalls.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
      expect(first.answer.finish).toMatchObject({ reason: "tool-calls", usage: variant.usage });
      const second = await takeTurn(model, first.state);
      expect(second.answer.finish).toMatchObject({ reason: "stop", usage: variant.usage });
      const third = await takeTurn(model, second.state.withMessage(userMessage("And search?")));
      const fourth = await takeTurn(model, third.state);
      expect(fourth.state.messages.map(({ role }) => role).join(" ")).toBe(
        "system user assistant tool tool assistant user assistant tool assistant",
      );
      expect(fourth.state.messages.filter(({ role }) => role === "assistant").map(textOf)).toEqual([
        "I look.",
        "Both at 13:58.",
        "",
        "Search too.",
      ]);
      expect(fake.requests).toHaveLength(4);
    },
  );

  test("OpenAI responses: thoughts between calls go back to where they were", async () => {
    const blocks: readonly FakeBlock[] = [
      { type: "reasoning", text: "First this." },
      call("call_1", "checkout"),
      { type: "reasoning", text: "" },
      call("call_2", "cart"),
      { type: "reasoning", text: "Then say it." },
      { type: "text", text: "I look." },
    ];
    await using fake = await startFakeOpenAI([{ blocks }, { blocks: [{ type: "text", text: "Done." }] }]);
    const model = fromAiSdk(line.responses(fake.url), { retry: false });
    const { state } = await takeTurn(model, started);
    await takeTurn(model, state);
    const { input } = fake.requests[1]!.body as { input: { type?: string; role?: string }[] };
    expect(input.map(({ type, role }) => role ?? type).join(" ")).toBe(
      "developer user reasoning function_call reasoning function_call reasoning assistant function_call_output function_call_output",
    );
  });

  test("a thread that OpenAI began goes on with Anthropic, and back", async () => {
    await using openai = await startFakeOpenAI([SCRIPT[0]!, SCRIPT[3]!]);
    await using anthropic = await startFakeAnthropic([SCRIPT[1]!, SCRIPT[2]!]);
    const gpt = fromAiSdk(line.responses(openai.url), { retry: false });
    const claude = fromAiSdk(line.anthropic(anthropic.url), { retry: false });
    const first = await takeTurn(gpt, started);
    const second = await takeTurn(claude, first.state);
    const third = await takeTurn(claude, second.state.withMessage(userMessage("And search?")));
    const fourth = await takeTurn(gpt, third.state);
    expect(textOf(fourth.state.messages.at(-1)!)).toBe("Search too.");
  });

  test("a thought that was changed on the way is refused: the fakes do look", async () => {
    const changed = { openai: "could not be verified", anthropic: "Invalid `signature`" };
    for (const [name, start] of Object.entries({ openai: startFakeOpenAI, anthropic: startFakeAnthropic })) {
      await using fake = await start(SCRIPT);
      const sdkModel = name === "openai" ? line.responses(fake.url) : line.anthropic(fake.url);
      const model = fromAiSdk(sdkModel, { providerOptions: thinking, retry: false });
      const { state } = await takeTurn(model, started);
      const text = JSON.stringify(state.toCheckpoint()).replace(
        /("(?:signature|reasoningEncryptedContent)":")./,
        "$1x",
      );
      const forged = AgentState.fromCheckpoint(JSON.parse(text));
      await expect(takeTurn(model, forged)).rejects.toThrow(changed[name as keyof typeof changed]);
    }
  });

  test("an unanswered call is refused with the provider's reason, and is not tried again", async () => {
    for (const [start, open, reason] of [
      [startFakeOpenAI, line.responses, "No tool output found for function call call_1."],
      [startFakeOpenAI, line.chat, "must be followed by tool messages"],
      [startFakeAnthropic, line.anthropic, "`tool_use` ids were found without `tool_result`"],
    ] as const) {
      await using fake = await start(SCRIPT);
      const model = fromAiSdk(open(fake.url));
      const dangling = [
        ...started.messages,
        assistantMessage("", { toolCalls: [{ id: "call_1", name: "lookup", arguments: {} }] }),
        userMessage("?"),
      ];
      const failure = await failureOf(() => collectAnswer(model.stream({ messages: dangling, tools: [LOOKUP] })));
      expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: false });
      expect(failure.message).toContain(reason);
      expect(fake.requests).toHaveLength(1);
    }
  });
});
