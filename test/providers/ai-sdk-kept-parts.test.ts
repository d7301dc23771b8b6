import { describe, expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { recordingSdkModel } from "./recording-sdk-model.ts";

const request = { messages: [userMessage("Hi")], tools: [] };
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} };

describe("a tool that the provider runs itself", () => {
  const call = {
    type: "tool-call",
    toolCallId: "ws_1",
    toolName: "web_search",
    input: '{"query":"x"}',
    providerExecuted: true,
    providerMetadata: { acme: { itemId: "i1" } },
  };
  const result = { type: "tool-result", toolCallId: "ws_1", toolName: "web_search", result: { hits: [1] } };
  const words = { type: "text-delta", id: "t", delta: "Found." };

  async function kept(version: string, parts: readonly object[], provider = "acme.chat") {
    const answer = await collectAnswer(fromAiSdk(recordingSdkModel(version, parts)).stream(request));
    expect(answer.toolCalls).toEqual([]);
    const saved = AgentState.create({
      messages: [...request.messages, assistantMessage(answer.content), userMessage("More?")],
    });
    const { messages } = AgentState.fromCheckpoint(JSON.parse(JSON.stringify(saved.toCheckpoint())));
    const later = recordingSdkModel(version, [finish], { provider });
    await collectAnswer(fromAiSdk(later).stream({ ...request, messages }));
    return later.calls[0]!.prompt[1]!.content;
  }

  test("is no call for us; call and result go back to it in their places, through a checkpoint", async () => {
    for (const version of ["v2", "v3", "v4"]) {
      const preliminary = { ...result, result: "half", preliminary: true };
      expect(await kept(version, [call, preliminary, result, words, finish])).toEqual([
        {
          type: "tool-call",
          toolCallId: "ws_1",
          toolName: "web_search",
          input: { query: "x" },
          providerExecuted: true,
          providerOptions: { acme: { itemId: "i1" } },
        },
        {
          type: "tool-result",
          toolCallId: "ws_1",
          toolName: "web_search",
          output: { type: "json", value: { hits: [1] } },
        },
        { type: "text", text: "Found." },
      ]);
    }
  });

  test("is not shown to another provider", async () => {
    expect(await kept("v3", [call, result, words, finish], "other.chat")).toEqual([{ type: "text", text: "Found." }]);
  });

  test("a block of the provider's own kind goes back as it came, where the version has such blocks", async () => {
    const parts = [
      { type: "custom", kind: "acme.compaction", providerMetadata: { acme: { sealed: "x" } } },
      words,
      finish,
    ];
    expect(await kept("v4", parts)).toEqual([
      { type: "custom", kind: "acme.compaction", providerOptions: { acme: { sealed: "x" } } },
      { type: "text", text: "Found." },
    ]);
  });

  test("a file that belongs to the model's thought goes back as such", async () => {
    const parts = [
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
      words,
      finish,
    ];
    expect(await kept("v4", parts)).toEqual([
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
      { type: "text", text: "Found." },
    ]);
  });
});
