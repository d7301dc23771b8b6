import { describe, expect, test } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { eventsOf, ofType } from "../agent/agent-of.ts";
import { startFakeAnthropic } from "./fake-anthropic.ts";
import { startFakeOpenAI } from "./fake-openai.ts";
import type { FakeAnswer } from "./fake-provider.ts";
import { PROVIDER_LINES } from "./provider-lines.ts";

const models = PROVIDER_LINES.flatMap((line) => [
  { name: `OpenAI responses ${line.version}`, open: line.responses, start: startFakeOpenAI },
  { name: `OpenAI chat ${line.version}`, open: line.chat, start: startFakeOpenAI },
  { name: `Anthropic ${line.version}`, open: line.anthropic, start: startFakeAnthropic },
]);

const says = (text: string, finish?: FakeAnswer["finish"]): FakeAnswer => ({
  blocks: text === "" ? [] : [{ type: "text", text }],
  ...(finish !== undefined && { finish }),
});

describe.each(models)("11.6: $name says how an answer ended", ({ name, open, start }) => {
  test.each([
    ["length", says("As I was say", "length"), "length"],
    ["content-filter", says("As I", "content-filter"), name.startsWith("Anthropic") ? "refusal" : "content-filter"],
    ["refusal", says("I cannot help with that.", "refusal"), "refusal"],
    ["empty", says(""), "empty"],
    ["complete", says("Yes."), undefined],
  ])("%s", async (_, answer, finishReason) => {
    await using fake = await start([answer]);
    const checkpointer = new MemoryCheckpointer();
    const run = new Agent({ model: open(fake.url), checkpointer }).run("Hi", { threadId: "t" });
    const events = await eventsOf(run);
    // The second generation of OpenAI's package leaves the words of a refusal out and calls it a stop.
    const isLost = finishReason === "refusal" && name.startsWith("OpenAI") && name.endsWith("v2");
    const expected = isLost ? "empty" : finishReason;
    expect((await run).stopReason).toBe(expected ?? "complete");
    expect(ofType(events, "run-end")).toEqual([{ type: "run-end", stopReason: expected ?? "complete" }]);
    const said = ofType(events, "message").at(-1)?.message;
    expect(said).toHaveProperty("role", "assistant");
    expect((await checkpointer.load("t"))?.messages.at(-1)).toEqual(said);
    if (expected === undefined) expect(said).not.toHaveProperty("finishReason");
    else expect(said).toHaveProperty("finishReason", expected);
  });
});
