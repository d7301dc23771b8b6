import { expect, test } from "vitest";
import { assistantMessage, systemMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import { asked } from "./asked-sdk-model.ts";

test("the roles keep their shape, and metadata goes back as options of each part", async () => {
  const mark = (name: string) => ({ acme: { name } });
  const { prompt } = await asked("v3", [
    systemMessage("On call.", { providerMetadata: mark("system") }),
    userMessage("Hi", { name: "Ana" }),
    assistantMessage(
      [
        { type: "reasoning", text: "Hm", providerMetadata: mark("thought") },
        { type: "text", text: "I look.", providerMetadata: mark("text") },
      ],
      { toolCalls: [{ id: "c1", name: "lookup", arguments: { a: 1 }, providerMetadata: mark("call") }] },
    ),
    toolMessage("found", { toolCallId: "c1", toolName: "lookup", providerMetadata: { acme: { cached: true } } }),
  ]);
  expect(prompt).toEqual([
    { role: "system", content: "On call.", providerOptions: mark("system") },
    { role: "user", content: [{ type: "text", text: "Hi" }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm", providerOptions: mark("thought") },
        { type: "text", text: "I look.", providerOptions: mark("text") },
        { type: "tool-call", toolCallId: "c1", toolName: "lookup", input: { a: 1 }, providerOptions: mark("call") },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "c1",
          toolName: "lookup",
          output: { type: "text", value: "found" },
          providerOptions: { acme: { name: "call", cached: true } },
        },
      ],
    },
  ]);
});

test("results of one turn stand in one message, errors as errors", async () => {
  const { prompt } = await asked("v3", [
    userMessage("Hi"),
    assistantMessage("", { toolCalls: ["a", "b"].map((id) => ({ id, name: "f", arguments: {} })) }),
    toolMessage("fine", { toolCallId: "a", toolName: "f" }),
    toolMessage("broken", { toolCallId: "b", toolName: "f", isError: true }),
  ]);
  expect(prompt).toHaveLength(3);
  expect(prompt[2]!.content).toMatchObject([
    { toolCallId: "a", output: { type: "text", value: "fine" } },
    { toolCallId: "b", output: { type: "error-text", value: "broken" } },
  ]);
});

test("what no provider accepts is left out: empty words, thought without an answer, messages that then are empty", async () => {
  const { prompt } = await asked("v3", [
    userMessage([
      { type: "text", text: "" },
      { type: "text", text: "Hi" },
    ]),
    assistantMessage([{ type: "reasoning", text: "cut o" }], { incomplete: true }),
    assistantMessage([
      { type: "text", text: "\n" },
      { type: "text", text: "So." },
      { type: "reasoning", text: "cut o" },
    ]),
  ]);
  expect(prompt).toEqual([
    { role: "user", content: [{ type: "text", text: "Hi" }] },
    { role: "assistant", content: [{ type: "text", text: "So." }] },
  ]);
});

test("words without text go back to the provider that marked them, and to no other", async () => {
  const said = (family: string) => [
    userMessage("Hi"),
    assistantMessage([
      { type: "reasoning", text: "", providerMetadata: { [family]: { sealed: "x" } } },
      { type: "text", text: "Hi." },
    ]),
  ];
  expect((await asked("v3", said("acme"))).prompt[1]!.content).toHaveLength(2);
  expect((await asked("v3", said("other"))).prompt[1]!.content).toHaveLength(1);
});

test("arguments that are no object are wrapped, as every provider takes objects only", async () => {
  const calls = [undefined, null, "{bad", [1]].map((input, index) => ({
    id: `c${index}`,
    name: "f",
    arguments: input,
  }));
  const { prompt } = await asked("v2", [userMessage("Hi"), assistantMessage("", { toolCalls: calls })]);
  const content = prompt[1]!.content as { input: unknown }[];
  expect(content.map(({ input }) => input)).toEqual([
    { value: null },
    { value: null },
    { value: "{bad" },
    { value: [1] },
  ]);
});

test("ids that a strict provider refuses are rewritten, alike for call and result; others get them unchanged", async () => {
  const id = "functions.lookup:0";
  const messages = [
    userMessage("Hi"),
    assistantMessage("", {
      toolCalls: [
        { id, name: "f", arguments: {} },
        { id: "toolu_1", name: "f", arguments: {} },
      ],
    }),
    toolMessage("x", { toolCallId: id, toolName: "f" }),
  ];
  const idsOf = async (provider: string) => {
    const { prompt } = await asked("v3", messages, {}, {}, { provider });
    return prompt
      .slice(1)
      .flatMap(({ content }) => (content as { toolCallId: string }[]).map((part) => part.toolCallId));
  };
  expect(await idsOf("moonshot.chat")).toEqual([id, "toolu_1", id]);
  const [call, native, result] = await idsOf("anthropic.messages");
  expect(call).toMatch(/^call_[0-9a-f]{32}$/);
  expect(result).toBe(call);
  expect(native).toBe("toolu_1");
});

test("settings of a request reach the provider under its names", async () => {
  const { signal } = new AbortController();
  const call = await asked(
    "v3",
    [userMessage("Hi")],
    { providerOptions: { acme: { store: false, effort: "low" } } },
    {
      tools: [{ name: "lookup", description: "Finds", inputSchema: { type: "object" } }],
      toolChoice: { name: "lookup" },
      responseSchema: { name: "answer", schema: { type: "object" } },
      maxOutputTokens: 10,
      temperature: 0,
      signal,
      providerOptions: { acme: { effort: "high" } },
    },
  );
  expect(call).toMatchObject({
    tools: [{ type: "function", name: "lookup", description: "Finds", inputSchema: { type: "object" } }],
    toolChoice: { type: "tool", toolName: "lookup" },
    responseFormat: { type: "json", name: "answer", schema: { type: "object" } },
    maxOutputTokens: 10,
    temperature: 0,
    abortSignal: signal,
    providerOptions: { acme: { store: false, effort: "high" } },
  });
});

test("a request that asks for nothing special says nothing special", async () => {
  expect(Object.keys(await asked("v3", [userMessage("Hi")], {}, { toolChoice: "auto" }))).toEqual(["prompt"]);
});

test("a tool of the provider's own is offered beside ours, as each version calls it", async () => {
  const providerTools = { web_search: { id: "acme.web_search", args: { depth: 2 } } };
  for (const [version, type] of [
    ["v2", "provider-defined"],
    ["v3", "provider"],
    ["v4", "provider"],
  ] as const) {
    const { tools } = await asked(version, [userMessage("Hi")], { providerTools });
    expect(tools).toEqual([{ type, id: "acme.web_search", name: "web_search", args: { depth: 2 } }]);
  }
});
