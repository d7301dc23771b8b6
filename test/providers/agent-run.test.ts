import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { textOf } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { LOOKUP } from "./conversation.ts";
import { startFakeAnthropic } from "./fake-anthropic.ts";
import { startFakeOpenAI } from "./fake-openai.ts";
import type { FakeBlock, FakeReply } from "./fake-provider.ts";
import { PROVIDER_LINES } from "./provider-lines.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-agent-run-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const call = (id: string, service: string): FakeBlock => ({
  type: "tool-call",
  id,
  name: "lookup",
  arguments: { service },
});
/** `third`: the id of the third call. Servers that imitate OpenAI's chat completions count from one in every turn. */
const repliesWith = (third: string): readonly FakeReply[] => [
  {
    blocks: [
      { type: "reasoning", text: "Two." },
      { type: "text", text: "I look." },
      call("call_1", "checkout"),
      call("call_2", "cart"),
    ],
  },
  { blocks: [{ type: "text", text: "Both at 13:58." }] },
  { blocks: [{ type: "reasoning", text: "" }, call(third, "search")] },
  { blocks: [{ type: "text", text: "Search too." }] },
];

const runs = PROVIDER_LINES.flatMap((line) => [
  { name: `OpenAI responses ${line.version}`, open: line.responses, start: startFakeOpenAI, third: "call_3" },
  { name: `OpenAI chat ${line.version}`, open: line.chat, start: startFakeOpenAI, third: "call_1" },
  { name: `Anthropic ${line.version}`, open: line.anthropic, start: startFakeAnthropic, third: "call_3" },
]);

describe.each(runs)("$name", ({ name, open, start, third }) => {
  test("an agent streams, uses tools, and a second agent goes on from what was saved; nothing is refused", async () => {
    await using fake = await start(repliesWith(third));
    const ran: unknown[] = [];
    const makeAgent = () =>
      new Agent({
        model: open(fake.url),
        systemPrompt: "You are on call.",
        checkpointer: new FileCheckpointer({ directory: join(folder, name) }),
        tools: [
          tool({
            ...LOOKUP,
            execute: (input) => {
              ran.push(input);
              return "13:58";
            },
          }),
        ],
      });
    const deltas: string[] = [];
    const run = makeAgent().run("What was deployed?", { threadId: "t1" });
    for await (const event of run) if (event.type === "model-delta" && event.kind === "text") deltas.push(event.text);
    expect(await run).toMatchObject({ stopReason: "complete", text: "Both at 13:58.", iterations: 2 });
    expect(deltas.length).toBeGreaterThan(2);
    expect(deltas.join("")).toBe("I look.Both at 13:58.");

    const { state, text } = await makeAgent().run("And search?", { threadId: "t1" });
    expect(text).toBe("Search too.");
    expect(ran).toEqual([{ service: "checkout" }, { service: "cart" }, { service: "search" }]);
    expect(state.messages.map((message) => `${message.role}: ${textOf(message)}`)).toEqual([
      "user: What was deployed?",
      "assistant: I look.",
      "tool: 13:58",
      "tool: 13:58",
      "assistant: Both at 13:58.",
      "user: And search?",
      "assistant: ",
      "tool: 13:58",
      "assistant: Search too.",
    ]);
    assertValidForOpenAI(state.messages);
    assertValidForAnthropic(state.messages);
    expect(fake.requests).toHaveLength(4);
  });
});
