import { expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { type AiSdkOptions, fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import {
  assistantMessage,
  type FilePart,
  type Message,
  systemMessage,
  toolMessage,
  userMessage,
} from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { recordingSdkModel } from "./recording-sdk-model.ts";

const bytes = new Uint8Array([1, 2, 3]);
const picture: FilePart = { type: "file", mediaType: "image/png", data: bytes, filename: "graph.png" };
const linked = (url: string): FilePart => ({ type: "file", mediaType: "image/png", data: { url } });

async function asked(
  version: string,
  messages: readonly Message[],
  options: AiSdkOptions = {},
  request: Partial<ModelRequest> = {},
  extras: object = {},
) {
  const model = recordingSdkModel(version, [], extras);
  await collectAnswer(fromAiSdk(model, { retry: false, ...options }).stream({ messages, tools: [], ...request }));
  return model.calls[0]!;
}

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

test("bytes are sent as each version writes them", async () => {
  for (const [version, data] of [
    ["v2", bytes],
    ["v3", bytes],
    ["v4", { type: "data", data: bytes }],
  ] as const) {
    const { prompt } = await asked(version, [userMessage([picture])]);
    expect(prompt[0]!.content).toEqual([{ type: "file", mediaType: "image/png", data, filename: "graph.png" }]);
  }
});

test("a file in a result is sent as each version writes it", async () => {
  const messages = [
    userMessage("Hi"),
    assistantMessage("", { toolCalls: [{ id: "a", name: "f", arguments: {} }] }),
    toolMessage([{ type: "text", text: "see" }, picture, { ...picture, mediaType: "application/pdf" }], {
      toolCallId: "a",
      toolName: "f",
    }),
  ];
  const base64 = "AQID";
  const expected = {
    v2: [
      { type: "media", data: base64, mediaType: "image/png" },
      { type: "media", data: base64, mediaType: "application/pdf" },
    ],
    v3: [
      { type: "image-data", data: base64, mediaType: "image/png" },
      { type: "file-data", data: base64, mediaType: "application/pdf", filename: "graph.png" },
    ],
    v4: ["image/png", "application/pdf"].map((mediaType) => ({
      type: "file",
      mediaType,
      data: { type: "data", data: bytes },
      filename: "graph.png",
    })),
  };
  for (const [version, files] of Object.entries(expected)) {
    const { prompt } = await asked(version, messages);
    expect(prompt[2]!.content).toMatchObject([
      { output: { type: "content", value: [{ type: "text", text: "see" }, ...files] } },
    ]);
  }
});

test("a URL that the provider fetches is passed on", async () => {
  const supportedUrls = Promise.resolve({ "image/*": [/^https:\/\/cdn\.example\/.*$/g] });
  const file = linked("https://CDN.example/a.png");
  const url = new URL("https://cdn.example/a.png");
  for (const [version, data] of [
    ["v2", url],
    ["v3", url],
    ["v4", { type: "url", url }],
  ] as const) {
    const { prompt } = await asked(version, [userMessage([file, file])], {}, {}, { supportedUrls });
    expect(prompt[0]!.content).toEqual(Array(2).fill({ type: "file", mediaType: "image/png", data }));
  }
});

test("a URL that the provider does not fetch is refused, without what may be a key in it", async () => {
  const file = linked("https://bucket.example/p/secret-token/graph.png?signature=abc");
  for (const supportedUrls of [undefined, {}, { "application/pdf": [/.*/] }, { "image/*": [/^https:\/\/other/] }]) {
    const failure = await failureOf(() => asked("v3", [userMessage([file])], {}, {}, { supportedUrls }));
    expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: false });
    expect(failure.message).toBe(
      "acme:m1: the provider does not fetch image/png from https://bucket.example, and holdfast downloads nothing by itself; " +
        "attach the bytes, or pass `download` to fromAiSdk()",
    );
  }
});

test("a download that was handed in is used, and told the signal", async () => {
  const { signal } = new AbortController();
  const seen: unknown[] = [];
  const download = async (what: unknown) => {
    seen.push(what);
    return bytes;
  };
  const { prompt } = await asked("v2", [userMessage([linked("https://x.example/a.png")])], { download }, { signal });
  expect(prompt[0]!.content).toEqual([{ type: "file", mediaType: "image/png", data: bytes }]);
  expect(seen).toEqual([{ url: "https://x.example/a.png", mediaType: "image/png", signal }]);
});

test("a data: URL is read without a network; a broken URL is refused", async () => {
  const sent = async (url: string) => (await asked("v3", [userMessage([linked(url)])])).prompt[0]!.content;
  expect(await sent("data:image/png;base64,AQID")).toEqual([{ type: "file", mediaType: "image/png", data: bytes }]);
  expect(await sent("data:text/plain;charset=utf-8,a%20b")).toMatchObject([{ data: new TextEncoder().encode("a b") }]);
  for (const url of ["data:text/plain,%E0%A4%A", "not a url"]) {
    expect((await failureOf(() => sent(url))).message).toContain("cannot be read; attach the bytes instead");
  }
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
