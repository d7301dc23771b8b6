import { describe, expect, test } from "vitest";
import { AnswerCollector, collectAnswer } from "../../src/models/collect-answer.ts";
import type { Model } from "../../src/models/model.ts";
import type { ModelError } from "../../src/models/model-error.ts";
import { fromAiSdk } from "../../src/providers/ai-sdk/index.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { LOOKUP } from "./conversation.ts";
import { startFakeAnthropic } from "./fake-anthropic.ts";
import { startFakeOpenAI } from "./fake-openai.ts";
import type { FakeAnswer } from "./fake-provider.ts";
import { PROVIDER_LINES } from "./provider-lines.ts";

const request = { messages: [userMessage("Hello?")], tools: [LOOKUP] };
const hello: FakeAnswer = { blocks: [{ type: "text", text: "Hello there." }] };
const noWait = { sleep: async () => undefined };

/** `firstHalf`: the number of events until half of the answer was said. */
const providers = PROVIDER_LINES.flatMap((line) => [
  {
    name: `OpenAI responses ${line.version}`,
    open: line.responses,
    firstHalf: 3,
    start: startFakeOpenAI,
    key: "sk-wrong-0123456789",
  },
  {
    name: `OpenAI chat ${line.version}`,
    open: line.chat,
    firstHalf: 2,
    start: startFakeOpenAI,
    key: "sk-wrong-0123456789",
  },
  {
    name: `Anthropic ${line.version}`,
    open: line.anthropic,
    firstHalf: 4,
    start: startFakeAnthropic,
    key: "sk-ant-wrong-0123456789",
  },
]);

/** What was yielded, and how it ended. */
async function outcomeOf(
  model: Model,
  signal?: AbortSignal,
): Promise<{ text: unknown; finished: boolean; error: unknown }> {
  const collector = new AnswerCollector();
  let error: unknown;
  try {
    for await (const part of model.stream({ ...request, ...(signal !== undefined && { signal }) })) collector.add(part);
  } catch (thrown) {
    error = thrown;
  }
  const { content, finish } = collector.answer;
  const text =
    typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
  return { text, finished: finish !== undefined, error };
}

describe.each(providers)("$name", ({ open, start, key, firstHalf }) => {
  test("429 and 500 may pass: they are tried again, and the answer comes once", async () => {
    const limited = {
      status: 429,
      message: "Rate limit reached",
      code: "rate_limit_error",
      headers: { "retry-after": "7" },
    };
    await using fake = await start([limited, { status: 500, message: "Internal" }, hello]);
    const waits: number[] = [];
    const retry = { random: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    expect(await outcomeOf(fromAiSdk(open(fake.url), { retry }))).toEqual({
      text: "Hello there.",
      finished: true,
      error: undefined,
    });
    expect(waits).toEqual([7000, 0]);
  });

  test("a limit says how long to wait", async () => {
    const later = new Date(Date.now() + 60_000).toUTCString();
    await using fake = await start([
      { status: 429, message: "slow down", headers: { "retry-after-ms": "1500", "retry-after": "9" } },
      { status: 503, message: "not now", headers: { "retry-after": later } },
      { status: 500, message: "broken" },
    ]);
    const model = fromAiSdk(open(fake.url), { retry: false });
    const failures: ModelError[] = [];
    for (let count = 0; count < 3; count++) failures.push((await outcomeOf(model)).error as ModelError);
    expect(failures.map(({ code, retryable }) => [code, retryable])).toEqual(Array(3).fill(["MODEL_FAILED", true]));
    expect(failures[0]!.retryAfterMs).toBe(1500);
    expect(failures[0]!.message).toMatch(/^\w+:[\w.-]+: HTTP 429: slow down$/);
    expect(failures[1]!.retryAfterMs).toBeGreaterThan(0);
    expect(failures[1]!.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(failures[2]!.retryAfterMs).toBeUndefined();
  });

  test("a wrong key is not tried again and appears nowhere in the error", async () => {
    await using fake = await start([hello]);
    const failure = await failureOf(() =>
      collectAnswer(fromAiSdk(open(fake.url, key), { retry: noWait }).stream(request)),
    );
    expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: false });
    expect(failure.message).toContain("HTTP 401");
    const cause = failure.cause as Error;
    const all = [
      failure.message,
      failure.stack,
      cause.message,
      cause.stack,
      JSON.stringify(failure),
      JSON.stringify(cause),
    ];
    expect(all.join("\n")).not.toContain(key);
    expect(fake.requests).toHaveLength(1);
  });

  test.each([
    ["of no known shape", "4f9d2c7a81b34e6f9a0c5d7e8b1a2c3d"],
    ["in two pieces", "live-Zx81kQpL09vBnM3wTyUi"],
    ["masked in its middle", "ab12****9zZ"],
    ["of another provider", "gsk_abcdefghijklmnop"],
  ])("a key %s that a provider quotes when it refuses it is hidden; the model's name is not", async (_, quoted) => {
    await using fake = await start([
      { status: 401, message: `Incorrect API key provided: ${quoted} (gpt-4o-mini-2024-07-18)` },
    ]);
    const failure = await failureOf(() => collectAnswer(fromAiSdk(open(fake.url), { retry: false }).stream(request)));
    const all = [failure.message, failure.stack, (failure.cause as Error).message, (failure.cause as Error).stack];
    expect(all.join("\n")).not.toContain(quoted);
    expect(failure.message).toContain("gpt-4o-mini-2024-07-18");
  });

  test("an account without money is not tried again", async () => {
    await using fake = await start([
      { status: 429, message: "You exceeded your quota", code: "insufficient_quota" },
      hello,
    ]);
    const failure = await failureOf(() => collectAnswer(fromAiSdk(open(fake.url), { retry: noWait }).stream(request)));
    expect(failure.retryable).toBe(false);
    expect(fake.requests).toHaveLength(1);
  });

  test("an answer that is cut off at any event is incomplete or whole, never half of it called whole", async () => {
    const cuts = Array.from({ length: 12 }, (_, stopAfter) => ({ ...hello, stopAfter }));
    await using fake = await start(cuts);
    const model = fromAiSdk(open(fake.url), { retry: false });
    for (const { stopAfter } of cuts) {
      const { text, finished, error } = await outcomeOf(model);
      if (finished) expect(text, `after ${stopAfter} events`).toBe("Hello there.");
      else expect("Hello there.", `after ${stopAfter} events`).toContain(text);
      expect(error, `after ${stopAfter} events`).toBeUndefined();
    }
  });

  test("a call whose arguments are cut off is not made", async () => {
    const blocks = [{ type: "tool-call", id: "call_1", name: "lookup", arguments: { service: "checkout" } }] as const;
    const cuts = Array.from({ length: 8 }, (_, stopAfter) => ({ blocks, stopAfter }));
    await using fake = await start(cuts);
    const model = fromAiSdk(open(fake.url), { retry: false });
    for (const { stopAfter } of cuts) {
      const { toolCalls } = await collectAnswer(model.stream(request));
      const given = toolCalls.map(({ argumentsText }) => JSON.parse(argumentsText));
      expect([[], [{ service: "checkout" }]], `after ${stopAfter} events`).toContainEqual(given);
    }
  });

  test("a connection that breaks is a failure that may pass; what came before it stands and is not asked for again", async () => {
    await using fake = await start([{ ...hello, stopAfter: firstHalf, stopBy: "break" }, hello]);
    const { text, finished, error } = await outcomeOf(fromAiSdk(open(fake.url), { retry: noWait }));
    expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: true });
    expect(finished).toBe(false);
    expect(text).toBe("Hello ");
    expect(fake.requests).toHaveLength(1);
  });

  test("an error in the stream before the first word is tried again, after it is thrown", async () => {
    await using early = await start([{ ...hello, stopAfter: 1, stopBy: "error" }, hello]);
    expect(await outcomeOf(fromAiSdk(open(early.url), { retry: noWait }))).toMatchObject({
      text: "Hello there.",
      finished: true,
    });
    await using late = await start([{ ...hello, stopAfter: firstHalf, stopBy: "error" }, hello]);
    const { text, error } = await outcomeOf(fromAiSdk(open(late.url), { retry: noWait }));
    expect(error).toMatchObject({ code: "MODEL_FAILED" });
    expect((error as Error).message).toContain("Overloaded");
    expect(text).toBe("Hello ");
  });

  test("an abort ends a stream that hangs, with the signal's reason, and lets the connection go", async () => {
    await using fake = await start([{ ...hello, stopAfter: firstHalf, stopBy: "hang" }]);
    const controller = new AbortController();
    const seen: string[] = [];
    const run = (async () => {
      for await (const part of fromAiSdk(open(fake.url)).stream({ ...request, signal: controller.signal })) {
        seen.push(part.type);
        controller.abort(new Error("enough"));
      }
    })();
    await expect(run).rejects.toThrow("enough");
    expect(seen).toEqual(["text-delta"]);
    await expect.poll(() => fake.abandoned).toBe(1);
  });

  test("an abort before the request makes none", async () => {
    await using fake = await start([hello]);
    const { error } = await outcomeOf(fromAiSdk(open(fake.url)), AbortSignal.abort(new Error("too late")));
    expect(error).toMatchObject({ message: "too late" });
    expect(fake.requests).toHaveLength(0);
  });

  test("a reader that leaves early lets the connection go", async () => {
    await using fake = await start([{ ...hello, stopAfter: firstHalf, stopBy: "hang" }]);
    for await (const _ of fromAiSdk(open(fake.url)).stream(request)) break;
    await expect.poll(() => fake.abandoned).toBe(1);
  });

  test("a server that is not there is a failure that may pass", async () => {
    const fake = await start([]);
    await fake[Symbol.asyncDispose]();
    const { error } = await outcomeOf(fromAiSdk(open(fake.url), { retry: false }));
    expect(error).toMatchObject({ code: "MODEL_FAILED", retryable: true });
  });
});
