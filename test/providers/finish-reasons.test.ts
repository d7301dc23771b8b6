import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test } from "vitest";
import { RunError } from "../../src/agent/run/run-error.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import type { Model } from "../../src/models/model.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { Agent, type AgentOptions } from "../../src/wiring/agent.ts";
import { eventsOf, ofType } from "../agent/agent-of.ts";
import { failureOf } from "../failure-of.ts";
import { startFakeAnthropic } from "./fake-anthropic.ts";
import { GOOGLE_KEY, startFakeGoogle } from "./fake-google.ts";
import { OPENAI_KEY, startFakeOpenAI } from "./fake-openai.ts";
import type { FakeAnswer, FakeProvider, FakeReply } from "./fake-provider.ts";
import { PROVIDER_LINES } from "./provider-lines.ts";

type Finish = NonNullable<FakeAnswer["finish"]>;

interface RealModel {
  readonly name: string;
  open(url: string): AgentOptions["model"] | Promise<Model>;
  start(replies: readonly FakeReply[]): Promise<FakeProvider>;
  /** How many events of its stream there are when half of the first text has come. */
  readonly half: number;
  /** What its provider calls by another name, or does not tell at all. */
  readonly says?: Partial<Record<Finish, Finish | "empty" | undefined>>;
}

/** The oldest interface has no refusals: words are words. */
const NO_REFUSAL = { refusal: undefined };

const compatible = (baseURL: string) => createOpenAICompatible({ name: "compatible", baseURL, apiKey: OPENAI_KEY });

const models: readonly RealModel[] = [
  ...PROVIDER_LINES.flatMap(({ version, responses, chat, completion, anthropic }): RealModel[] => {
    // The second generation of OpenAI's package leaves the words of a refusal out and calls it a stop.
    const says = version === "v2" ? { refusal: "empty" as const } : {};
    return [
      { name: `OpenAI responses ${version}`, open: responses, start: startFakeOpenAI, half: 3, says },
      { name: `OpenAI chat ${version}`, open: chat, start: startFakeOpenAI, half: 2, says },
      { name: `OpenAI completion ${version}`, open: completion, start: startFakeOpenAI, half: 1, says: NO_REFUSAL },
      // Anthropic has one word for whatever it does not say.
      {
        name: `Anthropic ${version}`,
        open: anthropic,
        start: startFakeAnthropic,
        half: 4,
        says: { "content-filter": "refusal" },
      },
    ];
  }),
  {
    name: "OpenAI-compatible chat",
    open: (url) => compatible(url)("some-model"),
    start: startFakeOpenAI,
    half: 2,
    says: { refusal: "empty" },
  },
  {
    name: "OpenAI-compatible completion",
    open: (url) => compatible(url).completionModel("some-model"),
    start: startFakeOpenAI,
    half: 1,
    says: NO_REFUSAL,
  },
  {
    name: "Ollama, by its name",
    open: (url) => {
      const environment = { OLLAMA_HOST: url.replace(/\/v1$/, "") };
      return modelFromString("ollama:llama3.2", { environment, apiKey: OPENAI_KEY });
    },
    start: startFakeOpenAI,
    half: 2,
    says: { refusal: "empty" },
  },
  {
    name: "Google",
    open: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey: GOOGLE_KEY })("gemini-2.5-flash"),
    start: startFakeGoogle,
    half: 1,
    says: { refusal: "content-filter" },
  },
];

const text = (words: string, finish?: Finish): FakeAnswer => ({
  blocks: words === "" ? [] : [{ type: "text", text: words }],
  ...(finish !== undefined && { finish }),
});

test("every model of every line of the real packages that is installed is asked", () => {
  expect(models).toHaveLength(4 * PROVIDER_LINES.length + 4);
});

describe.each(models)("$name says how an answer ended", ({ open, start, half, says = {} }) => {
  const told = (finish: Finish): Finish | "empty" | undefined => (finish in says ? says[finish] : finish);

  test.each([
    ["length", text("As I was say", "length"), told("length")],
    ["content-filter", text("As I", "content-filter"), told("content-filter")],
    ["refusal", text("I cannot help with that.", "refusal"), told("refusal")],
    ["empty", text(""), "empty"],
    ["complete", text("Yes."), undefined],
  ])("%s", async (_, answer, expected) => {
    await using fake = await start([answer]);
    const checkpointer = new MemoryCheckpointer();
    const run = new Agent({ model: await open(fake.url), checkpointer }).run("Hi", { threadId: "t" });
    const events = await eventsOf(run);
    expect((await run).stopReason).toBe(expected ?? "complete");
    expect(ofType(events, "run-end")).toEqual([{ type: "run-end", stopReason: expected ?? "complete" }]);
    const said = ofType(events, "message").at(-1)?.message;
    expect(said).toHaveProperty("role", "assistant");
    expect((await checkpointer.load("t"))?.messages.at(-1)).toEqual(said);
    if (expected === undefined) expect(said).not.toHaveProperty("finishReason");
    else expect(said).toHaveProperty("finishReason", expected);
  });

  test("an error behind the first words fails the run; they are kept as cut off and never called an answer", async () => {
    await using fake = await start([{ ...text("As I was saying"), stopAfter: half, stopBy: "error" }]);
    const checkpointer = new MemoryCheckpointer();
    const run = new Agent({ model: await open(fake.url), checkpointer }).run("Hi", { threadId: "t" });
    const failure = await failureOf(() => run);
    expect(failure).toBeInstanceOf(RunError);
    expect(failure).toMatchObject({ message: expect.stringContaining("Overloaded") });
    expect(fake.requests).toHaveLength(1);
    const [asked, ...said] = (await checkpointer.load("t"))?.messages ?? [];
    expect(asked).toHaveProperty("role", "user");
    for (const message of said) expect(message).toMatchObject({ role: "assistant", incomplete: true });
  });
});
